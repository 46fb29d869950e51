// Answers of Kubernetes' own structured allocator, for tests/allocator/test_allocator_vectors.py.
//
// Reads problems from standard input, one JSON object a line, and writes {"name", "answer", "cpuSeconds"} for each. The
// form of problems and answers is that of random.jsonl.gz; cpuSeconds is the processor time of the allocator itself.
//
//	go run . < problems.jsonl > answers.jsonl
//
// Upstream iterates over maps in random order. With -runs N each problem is answered N times from scratch, and an answer
// that is not always the same is marked unstable and has the others as alternatives.
//
// The recorded answers of random.jsonl.gz come from the experimental variant whatever the features are, which is the
// default here, and those of quirks.jsonl.gz from the variant that the features select (-variant "").
//
// The tables of upstream's own tests, for each variant, as problems with answers:
//
//	go test -count=1 . -args -upstream-table=$PWD/upstream-table.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/dynamic-resource-allocation/structured/internal"
	"k8s.io/utils/ptr"
)

type problem struct {
	Name           string                         `json:"name"`
	Variant        string                         `json:"variant,omitempty"`
	Features       map[string]bool                `json:"features"`
	Node           *corev1.Node                   `json:"node"`
	Classes        classes                        `json:"classes"`
	Slices         []*resourceapi.ResourceSlice   `json:"slices"`
	Claims         []*resourceapi.ResourceClaim   `json:"claims"`
	TaintRules     []*resourceapi.DeviceTaintRule `json:"taintRules,omitempty"`
	Allocated      []*resourceapi.ResourceClaim   `json:"allocated,omitempty"`
	AllocatedState *allocatedState                `json:"allocatedState,omitempty"`
}

type device struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

type sharedDevice struct {
	device
	ShareID types.UID `json:"shareID"`
}

type drawnDevice struct {
	device
	Consumed internal.ConsumedCapacity `json:"consumed"`
}

// allocatedState is structured.AllocatedState, which has no JSON form of its own.
type allocatedState struct {
	Devices  []device       `json:"devices,omitempty"`
	Shared   []sharedDevice `json:"shared,omitempty"`
	Capacity []drawnDevice  `json:"capacity,omitempty"`
}

type answer struct {
	Allocation   []resourceapi.AllocationResult `json:"allocation"`
	Error        string                         `json:"error,omitempty"`
	OnNode       bool                           `json:"onNode,omitempty"`
	Channel      string                         `json:"channel,omitempty"`
	Steps        int64                          `json:"steps,omitempty"`
	Unstable     bool                           `json:"unstable,omitempty"`
	Alternatives []string                       `json:"alternatives,omitempty"` // answers in JSON
}

type answered struct {
	Name       string  `json:"name"`
	Answer     answer  `json:"answer"`
	CPUSeconds float64 `json:"cpuSeconds"`
}

// classes is the lister of DeviceClasses, in the order of the problem.
type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return c, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

// default137 is what kube-scheduler 1.37 enables by default, see AllocatorFeatures in its dynamicresources plugin.
var default137 = structured.Features{
	AdminAccess:             true,
	ConsumableCapacity:      true,
	DeviceBindingAndStatus:  true,
	DeviceTaints:            true,
	FractionalCapacityRange: true,
	PartitionableDevices:    true,
	PrioritizedList:         true,
}

func featuresOf(names map[string]bool) (features structured.Features, err error) {
	if names["all"] {
		return internal.FeaturesAll, nil
	}
	if names["default137"] {
		return default137, nil
	}
	err = convert(names, &features)
	return features, err
}

// convert goes through JSON; the fields of structured.Features have no other names in it than in Go.
func convert(from, to any) error {
	encoded, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, to)
}

// state is what the scheduler's dynamicresources plugin makes of allocated claims, see its foreachAllocatedDevice.
func (p *problem) state(features structured.Features) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	if p.AllocatedState != nil {
		p.AllocatedState.addTo(&state)
		return state
	}
	for _, claim := range p.Allocated {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			switch {
			case ptr.Deref(result.AdminAccess, false):
			case features.ConsumableCapacity && result.ShareID != nil:
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
				if result.ConsumedCapacity != nil {
					state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
				}
			default:
				state.AllocatedDevices.Insert(id)
			}
		}
	}
	return state
}

func (a *allocatedState) addTo(state *structured.AllocatedState) {
	for _, one := range a.Devices {
		state.AllocatedDevices.Insert(one.id())
	}
	for _, one := range a.Shared {
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(one.id(), &one.ShareID))
	}
	for _, one := range a.Capacity {
		state.AggregatedCapacity.Insert(
			structured.DeviceConsumedCapacity{DeviceID: one.id(), ConsumedCapacity: one.Consumed})
	}
}

func (d device) id() structured.DeviceID {
	return structured.MakeDeviceID(d.Driver, d.Pool, d.Device)
}

// tainted gives the slices as the scheduler's tracker hands them to the allocator, but in their own order.
func (p *problem) tainted(ctx context.Context) ([]*resourceapi.ResourceSlice, error) {
	if len(p.TaintRules) == 0 {
		return p.Slices, nil
	}
	objects := make([]runtime.Object, 0, len(p.Slices)+len(p.TaintRules))
	for _, slice := range p.Slices {
		objects = append(objects, slice)
	}
	for _, rule := range p.TaintRules {
		objects = append(objects, rule)
	}
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	defer factory.Shutdown()
	defer cancel()
	resources := factory.Resource().V1()
	slicesTracker, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          resources.ResourceSlices(),
		TaintInformer:          resources.DeviceTaintRules(),
	})
	if err != nil {
		return nil, err
	}
	defer slicesTracker.Stop()
	factory.Start(ctx.Done())
	<-slicesTracker.HasSyncedChecker().Done()
	tainted, err := slicesTracker.ListPatchedResourceSlices()
	if err != nil {
		return nil, err
	}
	order := make(map[string]int, len(p.Slices))
	for position, slice := range p.Slices {
		order[slice.Name] = position
	}
	slices.SortFunc(tainted, func(a, b *resourceapi.ResourceSlice) int { return order[a.Name] - order[b.Name] })
	if len(tainted) != len(p.Slices) {
		return nil, fmt.Errorf("%d of %d slices have names of their own", len(tainted), len(p.Slices))
	}
	return tainted, nil
}

// compiled has compiled expressions, as the scheduler keeps them from one pod to the next.
var compiled = map[cel.Features]*cel.Cache{}

func cacheFor(features structured.Features) *cel.Cache {
	key := cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	}
	if compiled[key] == nil {
		compiled[key] = cel.NewCache(10, key)
	}
	return compiled[key]
}

// solve answers a problem and tells how much processor time that took. An error is one of the problem's form.
func solve(p *problem, variant string, timeout time.Duration) (a answer, cpu time.Duration, err error) {
	features, err := featuresOf(p.Features)
	if err != nil {
		return a, 0, err
	}
	if p.Variant != "" {
		variant = p.Variant
	}
	if structured.EnableAllocators(); variant != "" {
		structured.EnableAllocators(variant)
	}
	tainted, err := p.tainted(context.Background())
	if err != nil {
		return a, 0, err
	}
	state := p.state(features)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	start := processorTime()
	allocator, err := structured.NewAllocator(ctx, features, state, p.Classes, tainted, cacheFor(features))
	if err != nil {
		return a, 0, err
	}
	a = allocate(ctx, allocator.(internal.Allocator), p.Node, p.Claims)
	return a, processorTime() - start, nil
}

// allocate asks an allocator of any variant, which may panic where API validation would not let the problem through.
func allocate(
	ctx context.Context, allocator internal.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim,
) (a answer) {
	a.Channel = string(allocator.Channel())
	defer func() {
		if p := recover(); p != nil {
			a.Error = fmt.Sprintf("PANIC: %v", p)
		}
	}()
	a.record(allocator.Allocate(ctx, node, claims))
	if extended, ok := allocator.(internal.AllocatorExtended); ok {
		a.Steps = extended.GetStats().NumAllocateOneInvocations
	}
	return a
}

func (a *answer) record(results []resourceapi.AllocationResult, err error) {
	if err != nil {
		a.Error = err.Error()
		a.OnNode = errors.Is(err, structured.ErrFailedAllocationOnNode)
		return
	}
	a.Allocation = withPlainShares(results)
}

// withPlainShares numbers the share ids, which are random, in the order of the results.
func withPlainShares(results []resourceapi.AllocationResult) []resourceapi.AllocationResult {
	results = slices.Clone(results)
	shares := 0
	for i := range results {
		results[i].Devices.Results = slices.Clone(results[i].Devices.Results)
		for j := range results[i].Devices.Results {
			if result := &results[i].Devices.Results[j]; result.ShareID != nil {
				result.ShareID = ptr.To(types.UID(fmt.Sprintf("share-%d", shares)))
				shares++
			}
		}
	}
	return results
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ask answers a problem so many times; the time is that of the first answer.
func ask(p *problem, variant string, timeout time.Duration, runs int) (answered, error) {
	first, cpu, err := solve(p, variant, timeout)
	if err != nil {
		return answered{}, err
	}
	a := answered{Name: p.Name, Answer: first, CPUSeconds: cpu.Seconds()}
	known := []string{encode(first)}
	for range runs - 1 {
		another, _, err := solve(p, variant, timeout)
		if err != nil {
			return answered{}, err
		}
		if encoded := encode(another); !slices.Contains(known, encoded) {
			known = append(known, encoded)
		}
	}
	a.Answer.Unstable = len(known) > 1
	a.Answer.Alternatives = known[1:]
	return a, nil
}

// encode leaves out the steps, which may differ between equal answers.
func encode(a answer) string {
	a.Steps = 0
	encoded, err := json.Marshal(a)
	if err != nil {
		log.Fatal(err)
	}
	return string(encoded)
}

func main() {
	variant := flag.String("variant", internal.Experimental,
		"`name` of the variant for problems that name none; empty for the one that the features select")
	timeout := flag.Duration("timeout", 10*time.Second, "for each problem")
	runs := flag.Int("runs", 1, "how many times each problem is answered")
	flag.Parse()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		var p problem
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			log.Fatal(err)
		}
		a, err := ask(&p, *variant, *timeout, *runs)
		if err != nil {
			log.Fatalf("%s: %v", p.Name, err)
		}
		if err := answers.Encode(a); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
