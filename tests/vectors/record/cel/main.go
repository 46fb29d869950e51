// Answers of Kubernetes' own CEL compiler, for tests/api/test_cel_vectors.py.
//
// Reads one JSON object a line from standard input: {"expression", "driver", "device", "new", "derived"}; device is an
// entry of spec.devices of a v1 ResourceSlice, new asks for the environment of expressions in a request, derived for a
// derived attribute. Writes one object a line: compileError, or result, attribute or evalError, with cost (what the
// evaluation cost) and maxCost (the estimate).
//
//	go run . < expressions.jsonl > answers.jsonl
//
// Maps are iterated in random order: keep only answers that several runs agree on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"

	celgo "github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

type question struct {
	Expression string             `json:"expression"`
	Driver     string             `json:"driver"`
	Device     resourceapi.Device `json:"device"`
	New        bool               `json:"new"`
	Derived    bool               `json:"derived"`
}

type answer struct {
	CompileError string                       `json:"compileError,omitempty"`
	MaxCost      uint64                       `json:"maxCost,omitempty"`
	Result       *bool                        `json:"result,omitempty"`
	Attribute    *resourceapi.DeviceAttribute `json:"attribute,omitempty"`
	EvalError    string                       `json:"evalError,omitempty"`
	Cost         *uint64                      `json:"cost,omitempty"`
}

func ask(q question) (a answer) {
	defer func() {
		// [?dyn(1)] panics in cel-go v0.29.2.
		if p := recover(); p != nil {
			a = answer{CompileError: "PANIC"}
		}
	}()
	envType := environment.StoredExpressions
	if q.New {
		envType = environment.NewExpressions
	}
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: !q.New}
	options := cel.Options{EnvType: &envType, DerivedAttribute: q.Derived}
	compiled := cel.GetCompiler(features).CompileCELExpression(q.Expression, options)
	if compiled.Error != nil {
		return answer{CompileError: compiled.Error.Detail}
	}
	device := cel.Device{
		Driver:                   q.Driver,
		AllowMultipleAllocations: q.Device.AllowMultipleAllocations,
		Attributes:               q.Device.Attributes,
		Capacity:                 q.Device.Capacity,
	}
	a.MaxCost = compiled.MaxCost
	if q.Derived {
		attribute, details, err := compiled.EvaluateDerivedAttribute(context.Background(), device)
		a.Attribute = attribute
		return evaluated(a, details, err)
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), device)
	if err == nil {
		a.Result = &matches
	}
	return evaluated(a, details, err)
}

func evaluated(a answer, details *celgo.EvalDetails, err error) answer {
	if err != nil {
		a.EvalError = err.Error()
	}
	if details != nil {
		a.Cost = details.ActualCost()
	}
	return a
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(ask(q)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
