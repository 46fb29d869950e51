package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/packages"
)

// byHand are functions that do more than set fields; by_hand.py beside defaults.json has a rule for each under the name.
var byHand = map[string]string{
	apis + "core/v1.SetDefaults_ResourceList":                           "round up to thousandths",
	apis + "autoscaling/v2.SetDefaults_HorizontalPodAutoscalerBehavior": "complete scaling behavior",
	apis + "core/v1.defaultHugePagePodLimits":                           "pod-level limits of huge pages",
	apis + "core/v1.defaultPodRequests":                                 "pod-level requests",
}

// place is a path that begins at the struct, or at the item of the loop that it is in.
type place struct {
	depth int
	parts []any
}

// latestTag stands for the tag of an image, which is only ever compared with "latest".
type latestTag struct{ image place }

// condition is a local variable of type bool.
type condition struct{ object object }

// translation is the body of one function, with what its names stand for: a place, a condition or a value.
type translation struct {
	program *program
	source  *packages.Package
	body    *ast.BlockStmt
	names   map[types.Object]any
	depth   int
}

func (p *program) function(name string) *translation {
	declaration, ok := p.functions[name]
	if !ok {
		panic("no source of " + name)
	}
	source := p.packages[name[:strings.LastIndex(name, ".")]]
	made := &translation{program: p, source: source, body: declaration.Body, names: map[types.Object]any{}}
	if rule, ok := byHand[name]; ok {
		made.body = nil
		made.names[nil] = rule
		return made
	}
	made.names[source.TypesInfo.Defs[declaration.Type.Params.List[0].Names[0]]] = place{}
	return made
}

func (t *translation) statements() []any {
	if t.body == nil {
		return []any{object{"rule": t.names[nil]}}
	}
	return t.block(t.body.List)
}

func (t *translation) block(list []ast.Stmt) []any {
	made := []any{}
	for _, statement := range list {
		for _, each := range t.statement(statement) {
			if len(made) > 0 && replaces(made[len(made)-1], each) {
				made = made[:len(made)-1]
			}
			made = append(made, each)
		}
	}
	return made
}

// replaces tells whether one statement makes the one before it useless: new(T) is followed by a value.
func replaces(before, after any) bool {
	first, second := before.(object), after.(object)
	return first["set"] != nil && reflect.DeepEqual(first["set"], second["set"])
}

func (t *translation) statement(statement ast.Stmt) []any {
	switch statement := statement.(type) {
	case *ast.AssignStmt:
		return t.assign(statement)
	case *ast.DeclStmt:
		t.declare(statement.Decl.(*ast.GenDecl))
		return nil
	case *ast.IfStmt:
		return t.branch(statement)
	case *ast.SwitchStmt:
		return t.choose(statement)
	case *ast.RangeStmt:
		return t.loop(statement)
	case *ast.ExprStmt:
		return t.call(statement.X.(*ast.CallExpr))
	}
	panic(t.untranslated(statement))
}

func (t *translation) untranslated(node ast.Node) string {
	return fmt.Sprintf("cannot translate %T at %s", node, t.source.Fset.Position(node.Pos()))
}

func (t *translation) declare(declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		named := spec.(*ast.ValueSpec)
		for i, name := range named.Names {
			if i < len(named.Values) {
				t.names[t.source.TypesInfo.Defs[name]] = t.value(named.Values[i])
			}
		}
	}
}

func (t *translation) assign(statement *ast.AssignStmt) []any {
	if len(statement.Lhs) > 1 {
		return t.parseImage(statement)
	}
	left, right := statement.Lhs[0], statement.Rhs[0]
	if name, ok := left.(*ast.Ident); ok {
		t.name(name, right)
		return nil
	}
	target := t.path(left)
	if call, ok := right.(*ast.CallExpr); ok {
		switch calledName(t.source, call) {
		case "make":
			return nil // empty maps are left out
		case "append":
			if !reflect.DeepEqual(t.path(call.Args[0]), target) {
				panic(t.untranslated(call))
			}
			return []any{object{"append": t.template(call.Args[1]), "to": target}}
		}
	}
	if isNil(right) {
		return []any{object{"set": target}}
	}
	return t.set(left, target, right)
}

func (t *translation) set(left ast.Expr, target any, right ast.Expr) []any {
	value := t.template(right)
	if made, ok := value.(object); ok && len(made) == 0 && !isStruct(t.source.TypesInfo.TypeOf(left)) {
		return nil // an empty map
	}
	if selected, ok := left.(*ast.SelectorExpr); ok && t.isEmbedded(selected) {
		statements := []any{}
		for name, each := range value.(object) {
			statements = append(statements, object{"set": name, "to": each})
		}
		return statements
	}
	if _, pointed := left.(*ast.StarExpr); !pointed && isOmitted(t.source.TypesInfo.TypeOf(left), value) {
		return []any{object{"set": target}}
	}
	return []any{object{"set": target, "to": value}}
}

// isOmitted tells whether a field with this value is left out of JSON.
func isOmitted(t types.Type, value any) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && (value == "" || value == false || basic.Info()&types.IsInteger != 0 && value == int64(0))
}

// name gives a local variable what it stands for.
func (t *translation) name(name *ast.Ident, value ast.Expr) {
	found := t.source.TypesInfo.Defs[name]
	if found == nil {
		found = t.source.TypesInfo.Uses[name]
	}
	if _, ok := value.(*ast.BinaryExpr); ok && t.source.TypesInfo.Types[value].Value == nil {
		t.names[found] = condition{t.condition(value)}
		return
	}
	t.names[found] = t.value(value)
}

func (t *translation) parseImage(statement *ast.AssignStmt) []any {
	call, ok := statement.Rhs[0].(*ast.CallExpr)
	if !ok || calledName(t.source, call) != "k8s.io/kubernetes/pkg/util/parsers.ParseImageName" {
		panic(t.untranslated(statement))
	}
	t.names[t.source.TypesInfo.Defs[statement.Lhs[1].(*ast.Ident)]] = latestTag{t.value(call.Args[0]).(place)}
	return nil
}

func (t *translation) branch(statement *ast.IfStmt) []any {
	if statement.Init != nil {
		panic(t.untranslated(statement.Init))
	}
	test := t.condition(statement.Cond)
	made := object{"if": test}
	if then := t.block(statement.Body.List); len(then) > 0 {
		made["then"] = then
	}
	switch other := statement.Else.(type) {
	case *ast.BlockStmt:
		made["else"] = t.block(other.List)
	case *ast.IfStmt:
		made["else"] = t.branch(other)
	}
	if len(made) == 1 {
		return nil
	}
	return []any{shortened(made)}
}

// shortened writes what most rules do, "set a field that has no value", in a form of its own.
func shortened(branch object) object {
	then, ok := branch["then"].([]any)
	if !ok || len(then) != 1 || branch["else"] != nil {
		return branch
	}
	set := then[0].(object)
	for test, path := range branch["if"].(object) {
		if to, ok := set["to"]; ok && (test == "unset" || test == "empty") && reflect.DeepEqual(path, set["set"]) {
			return object{"if " + test: path, "to": to}
		}
	}
	return branch
}

func (t *translation) choose(statement *ast.SwitchStmt) []any {
	var chain []any
	for i := len(statement.Body.List) - 1; i >= 0; i-- {
		clause := statement.Body.List[i].(*ast.CaseClause)
		if len(clause.List) != 1 {
			panic(t.untranslated(clause))
		}
		made := object{"if": t.chosen(statement.Tag, clause.List[0]), "then": t.block(clause.Body)}
		if len(chain) > 0 {
			made["else"] = chain
		}
		chain = []any{made}
	}
	return chain
}

func (t *translation) chosen(tag, found ast.Expr) object {
	if tag == nil {
		return t.condition(found)
	}
	return t.equal(t.value(tag).(place), t.template(found))
}

func (t *translation) loop(statement *ast.RangeStmt) []any {
	list := t.value(statement.X).(place)
	if _, ok := t.source.TypesInfo.TypeOf(statement.X).Underlying().(*types.Map); ok {
		return []any{t.fill(statement, list)}
	}
	inner := *t
	inner.depth++
	inner.names = map[types.Object]any{}
	for key, value := range t.names {
		inner.names[key] = value
	}
	item := place{depth: inner.depth}
	if key, ok := statement.Key.(*ast.Ident); ok && key.Name != "_" {
		inner.names[t.source.TypesInfo.Defs[key]] = item
	}
	if value, ok := statement.Value.(*ast.Ident); ok {
		inner.names[t.source.TypesInfo.Defs[value]] = item
	}
	if statements := inner.block(statement.Body.List); len(statements) > 0 {
		return []any{object{"each": t.written(list), "do": statements}}
	}
	return nil
}

// fill translates a loop that copies a map into another one, which may have some of its keys already:
// "for key, value := range A { if _, exists := B[key]; !exists { B[key] = value } }".
func (t *translation) fill(statement *ast.RangeStmt, from place) object {
	body := statement.Body.List[0]
	if test, ok := body.(*ast.IfStmt); ok && test.Init != nil {
		body = test.Body.List[0]
	}
	assigned, ok := body.(*ast.AssignStmt)
	if !ok || len(statement.Body.List) != 1 {
		panic(t.untranslated(statement))
	}
	return object{"fill": t.path(assigned.Lhs[0].(*ast.IndexExpr).X), "from": t.written(from)}
}

// call translates the body of a called function in the place of the call.
func (t *translation) call(call *ast.CallExpr) []any {
	name := calledName(t.source, call)
	if rule, ok := byHand[name]; ok {
		return []any{object{"rule": rule}}
	}
	return t.entered(name, call).statements()
}

// entered is a called function that knows its argument as a place of this one.
func (t *translation) entered(name string, call *ast.CallExpr) *translation {
	inner := t.program.function(name)
	inner.depth = t.depth
	declaration := t.program.functions[name]
	parameter := inner.source.TypesInfo.Defs[declaration.Type.Params.List[0].Names[0]]
	inner.names[parameter] = t.value(call.Args[0]).(place)
	return inner
}

func isNil(expression ast.Expr) bool {
	name, ok := expression.(*ast.Ident)
	return ok && name.Name == "nil"
}

func isStruct(t types.Type) bool {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

func root(expression ast.Expr) *ast.Ident {
	for {
		switch found := expression.(type) {
		case *ast.Ident:
			return found
		case *ast.SelectorExpr:
			expression = found.X
		case *ast.IndexExpr:
			expression = found.X
		default:
			panic("no root")
		}
	}
}
