// Prints what Kubernetes' defaulting functions do, as data: for each struct, which fields get which values, and when.
//
//	go run ./defaults ../../kind/kubernetes/1.37.1 > DEFAULTING/defaults.json
//
// (DEFAULTING is registry/defaulting of embedded/drakit_embedded/apiserver.)
//
// The argument is a directory with a module that requires k8s.io/kubernetes. Nothing is run: the functions SetDefaults_*
// and the markers +default, which zz_generated.defaults.go holds, are read with their types and translated statement by
// statement. What this program cannot translate ends it, so that nothing is left out of a next version in silence; the
// few functions that are better written by hand are named in byHand.
//
// A statement is one of
//
//	{"set": PATH, "to": VALUE}             VALUE may hold {"$from": PATH}, also in itself; without "to" it is removed
//	{"if unset": PATH, "to": VALUE}        unset is null; empty is so as well, and "", 0, false, [] and {}
//	{"if empty": PATH, "to": VALUE}
//	{"append": VALUE, "to": PATH}
//	{"fill": PATH, "from": PATH}           the keys of a map that another one lacks
//	{"each": PATH, "do": [STATEMENT ...]}  paths in it begin at an item of the list
//	{"if": CONDITION, "then": [STATEMENT ...], "else": [STATEMENT ...]}
//	{"rule": NAME}                         one that is written by hand; with "of": PATH, for what is there
//
// and a condition one of
//
//	{"unset": PATH} {"empty": PATH} {"is": [PATH, VALUE]} {"same": [PATH, PATH]} {"below": [PATH, NUMBER]}
//	{"no": [PATH ...]} {"gate": NAME} {"tagged latest": PATH} {"not": CONDITION} {"all": [...]} {"any": [...]}
//
// A path has the JSON names of fields, separated by dots; one with a key that has dots itself is a list.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// groups are those of the kinds that the embedded API server keeps and drakit_api does not know.
var groups = []string{
	"admissionregistration/v1", "apps/v1", "autoscaling/v2", "batch/v1", "certificates/v1", "coordination/v1", "core/v1",
	"discovery/v1", "events/v1", "flowcontrol/v1", "networking/v1", "node/v1", "policy/v1", "rbac/v1", "scheduling/v1",
	"storage/v1", "storagemigration/v1",
}

// otherGates are of fields that are dropped while they are off: gated_fields.py beside defaults.json.
var otherGates = []string{
	"CSIServiceAccountTokenSecrets", "ContainerStopSignals", "CoordinatedLeaderElection", "EmptyDirVolumeMode",
	"EvictionRequestAPI",
	"GRPCContainerProbeTLS", "GenericWorkload", "InPlacePodVerticalScalingSchedulerPreemption",
	"MutableCSINodeAllocatableCount", "VolumeBindMountOptions", "WorkloadWithJob",
}

const (
	apis     = "k8s.io/kubernetes/pkg/apis/"
	service  = "k8s.io/kubernetes/pkg/api/v1/service"
	features = "k8s.io/kubernetes/pkg/features"
	// of everything that is an API server
	serverFeatures = "k8s.io/apiserver/pkg/features"
)

type object = map[string]any

// program is the source that is translated.
type program struct {
	packages  map[string]*packages.Package
	functions map[string]*ast.FuncDecl
	// what was translated: statements by struct, and the gates that they ask for.
	structs map[string][]any
	seen    map[string]bool
	gates   map[string]any
}

func load(directory string) (*program, error) {
	mode := packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports
	config := &packages.Config{Mode: mode, Dir: directory, Env: append(os.Environ(), "CGO_ENABLED=0"),
		BuildFlags: []string{"-mod=readonly", "-trimpath"}}
	patterns := []string{service, features, serverFeatures}
	for _, group := range groups {
		patterns = append(patterns, apis+group)
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return nil, fmt.Errorf("the packages of Kubernetes do not load")
	}
	found := &program{map[string]*packages.Package{}, map[string]*ast.FuncDecl{}, map[string][]any{}, map[string]bool{},
		map[string]any{}}
	for _, each := range loaded {
		found.packages[each.PkgPath] = each
		for _, file := range each.Syntax {
			for _, declaration := range file.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
					found.functions[each.PkgPath+"."+function.Name.Name] = function
				}
			}
		}
	}
	return found, nil
}

// structName is how api/schema calls a struct.
func structName(t types.Type) string {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named := t.(*types.Named).Obj()
	parts := strings.Split(named.Pkg().Path(), "/")
	return strings.Join(parts[len(parts)-2:], "/") + "." + named.Name()
}

// collect finds which struct has which rules; the generated functions are covering, they call all that are below.
func (p *program) collect() {
	for _, group := range groups {
		source := p.packages[apis+group]
		for _, file := range source.Syntax {
			for _, declaration := range file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if ok && strings.HasPrefix(function.Name.Name, "SetObjectDefaults_") {
					p.collectFrom(source, function.Body)
				}
			}
		}
	}
}

func (p *program) collectFrom(source *packages.Package, block *ast.BlockStmt) {
	for _, statement := range block.List {
		switch statement := statement.(type) {
		case *ast.ExprStmt:
			p.collectCall(source, statement.X.(*ast.CallExpr))
		case *ast.IfStmt:
			if !p.collectMarker(source, statement) {
				p.collectFrom(source, statement.Body)
			}
		case *ast.RangeStmt:
			p.collectFrom(source, statement.Body)
		}
	}
}

// collectCall adds what a function SetDefaults_* does to the struct that it takes.
func (p *program) collectCall(source *packages.Package, call *ast.CallExpr) {
	name := calledName(source, call)
	if strings.Contains(name, ".SetObjectDefaults_") {
		return
	}
	if rule, ok := byHand[name]; ok && !isStruct(source.TypesInfo.TypeOf(call.Args[0])) {
		owner, path := p.owner(source, call.Args[0].(*ast.UnaryExpr).X.(*ast.SelectorExpr))
		p.add(owner, name+path, func() []any { return []any{object{"rule": rule, "of": path}} })
		return
	}
	key := structName(source.TypesInfo.TypeOf(call.Args[0]))
	p.add(key, name, func() []any { return p.function(name).statements() })
}

// collectMarker adds a +default of a field: "if it is empty, set it", where no other name is used.
func (p *program) collectMarker(source *packages.Package, statement *ast.IfStmt) bool {
	last, ok := statement.Body.List[len(statement.Body.List)-1].(*ast.AssignStmt)
	if !ok || last.Tok.String() != "=" {
		return false
	}
	target := last.Lhs[0].(*ast.SelectorExpr)
	owner, path := p.owner(source, target)
	p.add(owner, path, func() []any {
		inside := &translation{program: p, source: source, names: map[types.Object]any{}}
		inside.names[source.TypesInfo.Uses[root(target)]] = place{}
		test := object{"unset": path}
		if compared := statement.Cond.(*ast.BinaryExpr).Y; !isNil(compared) {
			test = object{"empty": path}
		}
		for _, before := range statement.Body.List[:len(statement.Body.List)-1] {
			inside.statement(before)
		}
		return []any{shortened(object{"if": test, "then": []any{object{"set": path, "to": inside.template(last.Rhs[0])}}})}
	})
	return true
}

func (p *program) add(key, name string, made func() []any) {
	if p.seen[key+" "+name] {
		return
	}
	p.seen[key+" "+name] = true
	p.structs[key] = append(p.structs[key], made()...)
}

// owner is the struct that has a field, and the JSON name of the field.
func (p *program) owner(source *packages.Package, target *ast.SelectorExpr) (string, string) {
	t := source.TypesInfo.TypeOf(target.X)
	index := source.TypesInfo.Selections[target].Index()
	for i, at := range index {
		if pointer, ok := t.(*types.Pointer); ok {
			t = pointer.Elem()
		}
		fields := t.Underlying().(*types.Struct)
		if i == len(index)-1 {
			return structName(t), jsonName(fields, at)
		}
		t = fields.Field(at).Type()
	}
	panic("no field")
}

func calledName(source *packages.Package, call *ast.CallExpr) string {
	var name *ast.Ident
	switch called := call.Fun.(type) {
	case *ast.Ident:
		name = called
	case *ast.SelectorExpr:
		name = called.Sel
	case *ast.IndexExpr:
		return calledName(source, &ast.CallExpr{Fun: called.X})
	default:
		return ""
	}
	found, ok := source.TypesInfo.Uses[name]
	if !ok {
		return ""
	}
	if found.Pkg() == nil {
		return found.Name()
	}
	if receiver := signatureReceiver(found); receiver != "" {
		return found.Pkg().Path() + "." + receiver + "." + found.Name()
	}
	return found.Pkg().Path() + "." + found.Name()
}

func signatureReceiver(found types.Object) string {
	if signature, ok := found.Type().(*types.Signature); ok && signature.Recv() != nil {
		t := signature.Recv().Type()
		if pointer, ok := t.(*types.Pointer); ok {
			t = pointer.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			return named.Obj().Name()
		}
	}
	return ""
}

// write prints one struct a line, so that a new Kubernetes version shows as a readable difference.
func write(name string, lines map[string]any, end string) {
	fmt.Printf("%q: {\n", name)
	separator := ""
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		text, err := json.Marshal(lines[key])
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s%q: %s", separator, key, text)
		separator = ",\n"
	}
	fmt.Print("\n}" + end)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: defaults DIRECTORY")
		os.Exit(2)
	}
	p, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p.collect()
	for _, name := range otherGates {
		p.note(name)
	}
	structs := map[string]any{}
	for key, statements := range p.structs {
		if len(statements) > 0 {
			structs[key] = statements
		}
	}
	fmt.Print("{")
	write("gates", p.gates, ",\n")
	write("structs", structs, "}\n")
}
