package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/dynamic-resource-allocation/structured/internal"
	"k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting"
	"k8s.io/dynamic-resource-allocation/structured/internal/experimental"
	"k8s.io/dynamic-resource-allocation/structured/internal/incubating"
	"k8s.io/dynamic-resource-allocation/structured/internal/stable"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

var table = flag.String("upstream-table", "", "write the cases of upstream's tests to this `file`")

var variants = []struct {
	name     string
	features structured.Features
	// What depends on the order of pools and slices is tested by upstream for those variants that have one.
	isOrdered bool
}{
	{internal.Stable, stable.SupportedFeatures, false},
	{internal.Incubating, incubating.SupportedFeatures, true},
	{internal.Experimental, experimental.SupportedFeatures, true},
}

type newAllocator = func(
	context.Context, structured.Features, structured.AllocatedState, structured.DeviceClassLister,
	[]*resourceapi.ResourceSlice, *cel.Cache,
) (internal.Allocator, error)

// answeredProblem is a line of the table.
type answeredProblem struct {
	problem
	Answer answer `json:"answer"`
}

// TestUpstream runs upstream's tables for each variant, and writes those cases whose expectations are met.
func TestUpstream(t *testing.T) {
	var lines []answeredProblem
	for _, variant := range variants {
		structured.EnableAllocators(variant.name)
		captured := capturing(variant.name, func(line answeredProblem) { lines = append(lines, line) })
		t.Run(variant.name, func(t *testing.T) {
			allocatortesting.TestAllocator(t, variant.features, captured)
			if variant.isOrdered {
				allocatortesting.TestLexicographicalAllocator(t, variant.features, captured)
			}
		})
	}
	if *table != "" {
		slices.SortFunc(lines, func(a, b answeredProblem) int { return strings.Compare(a.Name, b.Name) })
		writeTable(t, lines)
	}
}

func writeTable(t *testing.T, lines []answeredProblem) {
	file, err := os.Create(*table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
}

// capturing makes allocators that hand on what they are asked and what they answer.
func capturing(variant string, write func(answeredProblem)) newAllocator {
	return func(
		ctx context.Context, features structured.Features, state structured.AllocatedState,
		lister structured.DeviceClassLister, published []*resourceapi.ResourceSlice, cache *cel.Cache,
	) (internal.Allocator, error) {
		allocator, err := structured.NewAllocator(ctx, features, state, lister, published, cache)
		if err != nil {
			return nil, err
		}
		p := problem{Variant: variant, Features: namesOf(features), AllocatedState: rawState(state)}
		p.Slices = append([]*resourceapi.ResourceSlice{}, published...)
		known, err := lister.List()
		p.Classes = append(classes{}, known...)
		if err != nil {
			return nil, err
		}
		return &capturedAllocator{allocator.(extendedAllocator), p, write}, nil
	}
}

// extendedAllocator is what upstream's tests know of an allocator, for any variant.
type extendedAllocator interface {
	internal.Allocator
	internal.AllocatorExtended
}

type capturedAllocator struct {
	extendedAllocator
	problem problem
	write   func(answeredProblem)
}

func (c *capturedAllocator) Allocate(
	ctx context.Context, node *corev1.Node, claims []*resourceapi.ResourceClaim,
) ([]resourceapi.AllocationResult, error) {
	line := answeredProblem{problem: c.problem}
	line.Node, line.Claims = node, append([]*resourceapi.ResourceClaim{}, claims...)
	results, err := c.extendedAllocator.Allocate(ctx, node, claims)
	if ctx.Err() != nil { // upstream's test of interruptions is no problem for anybody else
		return results, err
	}
	t := klog.FromContext(ctx).GetSink().(ktesting.Underlier).GetUnderlying().(*testing.T)
	_, line.Name, _ = strings.Cut(t.Name(), "/")
	line.Answer.record(results, err)
	t.Cleanup(func() {
		if !t.Failed() && line.survivesJSON(t) {
			c.write(line)
		}
	})
	return results, err
}

// survivesJSON asks again as anybody can who reads the table, and takes the answer to that.
//
// Some problems cannot be written down: 10^21 is written as "1", and an empty list not at all. Some of the stable variant
// have several answers, for it goes through pools in random order. And where slices have one name, which upstream's tests
// may give them because nobody stores them, they get names of their own.
func (a *answeredProblem) survivesJSON(t *testing.T) bool {
	names := sets.New[string]()
	for i, slice := range a.Slices {
		if names.Has(slice.Name) {
			a.Slices[i] = slice.DeepCopy()
			a.Slices[i].Name = fmt.Sprintf("%s-%03d", slice.Name, i)
		}
		names.Insert(a.Slices[i].Name)
	}
	var read problem
	if err := convert(a.problem, &read); err != nil {
		t.Fatal(err)
	}
	asked, err := ask(&read, a.Variant, time.Minute, 20)
	if err != nil {
		t.Fatal(err)
	}
	was, again := a.Answer, asked.Answer
	a.Answer = again
	if again.Unstable {
		t.Logf("left out: has several answers")
		return false
	}
	if apiequality.Semantic.DeepEqual(was.Allocation, again.Allocation) && (was.Error == "") == (again.Error == "") {
		return true
	}
	t.Logf("left out: %s, and %s once it was written and read", encode(was), encode(again))
	return false
}

func namesOf(features structured.Features) map[string]bool {
	names := map[string]bool{}
	if err := convert(features, &names); err != nil {
		panic(err)
	}
	for name, isEnabled := range names {
		if !isEnabled {
			delete(names, name)
		}
	}
	return names
}

func rawState(state structured.AllocatedState) *allocatedState {
	raw := &allocatedState{}
	for id := range state.AllocatedDevices {
		raw.Devices = append(raw.Devices, deviceOf(id))
	}
	for id := range state.AllocatedSharedDeviceIDs {
		raw.Shared = append(raw.Shared, sharedDevice{deviceOf(id.GetDeviceID()), types.UID(id.ShareID.String())})
	}
	for id, consumed := range state.AggregatedCapacity {
		raw.Capacity = append(raw.Capacity, drawnDevice{deviceOf(id), consumed})
	}
	return raw
}

func deviceOf(id structured.DeviceID) device {
	return device{id.Driver.String(), id.Pool.String(), id.Device.String()}
}
