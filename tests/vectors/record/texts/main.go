// What Go's readers of JSON and YAML say of texts: a line of JSON each, {"reader": "json" or "yaml", "text": base64}.
//
// The answer has "error", if there is one, and of YAML the JSON that it becomes, and what the strict reader says besides.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

type question struct {
	Reader string
	Text   []byte
}

type answer struct {
	JSON   string `json:"json,omitempty"`
	Error  string `json:"error,omitempty"`
	Strict string `json:"strict,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		found := ofJSON
		if asked.Reader == "yaml" {
			found = ofYAML
		}
		encoded, _ := json.Marshal(map[string]any{"answer": found(asked.Text)})
		fmt.Println(string(encoded))
	}
}

func ofJSON(text []byte) answer {
	var value json.RawMessage
	return answer{Error: said(json.Unmarshal(text, &value))}
}

func ofYAML(text []byte) answer {
	converted, err := yaml.YAMLToJSON(text)
	_, strict := yaml.YAMLToJSONStrict(text)
	found := answer{JSON: string(converted), Error: said(err)}
	if err == nil {
		found.Strict = said(strict)
	}
	return found
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
