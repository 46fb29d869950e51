package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/packages"
)

// value is what an expression stands for: a place, a tag, or JSON.
func (t *translation) value(expression ast.Expr) any {
	if found := t.source.TypesInfo.Types[expression].Value; found != nil {
		return literal(found)
	}
	switch expression := expression.(type) {
	case *ast.ParenExpr:
		return t.value(expression.X)
	case *ast.StarExpr:
		return t.value(expression.X)
	case *ast.UnaryExpr:
		return t.value(expression.X)
	case *ast.Ident:
		return t.named(expression)
	case *ast.SelectorExpr:
		return t.selected(expression)
	case *ast.IndexExpr:
		return t.indexed(expression)
	case *ast.CallExpr:
		return t.result(expression)
	case *ast.CompositeLit:
		return t.composite(expression)
	}
	panic(t.untranslated(expression))
}

func literal(found constant.Value) any {
	switch found.Kind() {
	case constant.String:
		return constant.StringVal(found)
	case constant.Bool:
		return constant.BoolVal(found)
	}
	number, _ := constant.Int64Val(constant.ToInt(found))
	return number
}

func (t *translation) named(name *ast.Ident) any {
	used := t.source.TypesInfo.Uses[name]
	if found, ok := t.names[used]; ok {
		return found
	}
	// A variable of the package, which is a value that somebody needs the address of.
	for _, file := range t.source.Syntax {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				named := spec.(*ast.ValueSpec)
				for i, each := range named.Names {
					if t.source.TypesInfo.Defs[each] == used {
						return t.value(named.Values[i])
					}
				}
			}
		}
	}
	panic(t.untranslated(name))
}

func (t *translation) selected(expression *ast.SelectorExpr) any {
	selection, ok := t.source.TypesInfo.Selections[expression]
	if !ok {
		panic(t.untranslated(expression))
	}
	from := t.value(expression.X).(place)
	parts := append([]any{}, from.parts...)
	at := selection.Recv()
	for _, index := range selection.Index() {
		if pointer, ok := at.(*types.Pointer); ok {
			at = pointer.Elem()
		}
		fields := at.Underlying().(*types.Struct)
		if name := jsonName(fields, index); name != "" {
			parts = append(parts, name)
		}
		at = fields.Field(index).Type()
	}
	return place{from.depth, parts}
}

func jsonName(fields *types.Struct, index int) string {
	name, _, _ := strings.Cut(reflect.StructTag(fields.Tag(index)).Get("json"), ",")
	return name
}

// isEmbedded tells whether a field has no name in JSON.
func (t *translation) isEmbedded(expression *ast.SelectorExpr) bool {
	before, after := t.value(expression.X).(place), t.selected(expression).(place)
	return len(before.parts) == len(after.parts)
}

// indexed is an item: of the list of a loop, at a number, or of a map at a key.
func (t *translation) indexed(expression *ast.IndexExpr) any {
	index := t.value(expression.Index)
	if item, ok := index.(place); ok {
		return item
	}
	of := t.value(expression.X).(place)
	return place{of.depth, append(append([]any{}, of.parts...), index)}
}

func (t *translation) result(call *ast.CallExpr) any {
	if t.source.TypesInfo.Types[call.Fun].IsType() {
		return t.value(call.Args[0])
	}
	switch calledName(t.source, call) {
	case "k8s.io/utils/ptr.To", "k8s.io/apimachinery/pkg/util/intstr.FromString", "k8s.io/apimachinery/pkg/util/intstr.FromInt32":
		return t.value(call.Args[0])
	case "new":
		return zero(t.source.TypesInfo.TypeOf(call.Args[0]))
	case "time.Duration.Seconds":
		nanoseconds := t.value(call.Fun.(*ast.SelectorExpr).X).(int64)
		return nanoseconds / 1e9
	}
	panic(t.untranslated(call))
}

func zero(t types.Type) any {
	basic := t.Underlying().(*types.Basic)
	switch {
	case basic.Info()&types.IsString != 0:
		return ""
	case basic.Info()&types.IsBoolean != 0:
		return false
	}
	return int64(0)
}

func (t *translation) composite(expression *ast.CompositeLit) any {
	of := t.source.TypesInfo.TypeOf(expression)
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	switch under := of.Underlying().(type) {
	case *types.Slice:
		list := []any{}
		for _, each := range expression.Elts {
			list = append(list, t.template(each))
		}
		return list
	case *types.Struct:
		made := object{}
		for _, each := range expression.Elts {
			pair := each.(*ast.KeyValueExpr)
			made[fieldName(under, pair.Key.(*ast.Ident).Name)] = t.template(pair.Value)
		}
		return made
	}
	if len(expression.Elts) > 0 {
		panic(t.untranslated(expression))
	}
	return object{}
}

func fieldName(fields *types.Struct, name string) string {
	for i := range fields.NumFields() {
		if fields.Field(i).Name() == name {
			return jsonName(fields, i)
		}
	}
	panic("no field " + name)
}

// template is a value as a statement shows it.
func (t *translation) template(expression ast.Expr) any {
	found := t.value(expression)
	if from, ok := found.(place); ok {
		return object{"$from": t.written(from)}
	}
	return found
}

func (t *translation) path(expression ast.Expr) any {
	return t.written(t.value(expression).(place))
}

// written is a path as text; it must begin where the statement stands.
func (t *translation) written(at place) any {
	if at.depth != t.depth {
		panic("a path that leads out of its loop")
	}
	names := []string{}
	for _, part := range at.parts {
		name, ok := part.(string)
		if !ok || strings.Contains(name, ".") {
			return at.parts
		}
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

func (t *translation) condition(expression ast.Expr) object {
	switch expression := expression.(type) {
	case *ast.ParenExpr:
		return t.condition(expression.X)
	case *ast.UnaryExpr:
		return negated(t.condition(expression.X))
	case *ast.BinaryExpr:
		return t.comparison(expression)
	case *ast.CallExpr:
		return t.answer(expression)
	}
	switch found := t.value(expression).(type) {
	case condition:
		return found.object
	case place:
		return negated(object{"empty": t.written(found)})
	}
	panic(t.untranslated(expression))
}

func negated(test object) object {
	if inner, ok := test["not"]; ok {
		return inner.(object)
	}
	return object{"not": test}
}

func (t *translation) comparison(test *ast.BinaryExpr) object {
	switch test.Op {
	case token.LAND:
		return joined("all", t.condition(test.X), t.condition(test.Y))
	case token.LOR:
		return joined("any", t.condition(test.X), t.condition(test.Y))
	case token.LSS:
		return object{"below": []any{t.path(test.X), t.value(test.Y)}}
	case token.EQL:
		return t.equality(test)
	case token.NEQ, token.GTR: // only ever "more than none"
		return negated(t.equality(test))
	}
	panic(t.untranslated(test))
}

func joined(how string, tests ...object) object {
	list := []any{}
	for _, test := range tests {
		if inner, ok := test[how]; ok {
			list = append(list, inner.([]any)...)
		} else {
			list = append(list, test)
		}
	}
	return object{how: list}
}

func (t *translation) equality(test *ast.BinaryExpr) object {
	if isNil(test.Y) {
		return object{"unset": t.path(test.X)}
	}
	if call, ok := test.X.(*ast.CallExpr); ok && calledName(t.source, call) == "len" {
		if t.value(test.Y) != int64(0) {
			panic(t.untranslated(test))
		}
		return object{"empty": t.path(call.Args[0])}
	}
	switch left := t.value(test.X).(type) {
	case latestTag:
		if t.value(test.Y) != "latest" {
			panic(t.untranslated(test))
		}
		return object{"tagged latest": t.written(left.image)}
	case place:
		return t.equal(left, t.value(test.Y))
	}
	panic(t.untranslated(test))
}

func (t *translation) equal(left place, right any) object {
	switch right := right.(type) {
	case place:
		return object{"same": []any{t.written(left), t.written(right)}}
	default:
		if reflect.ValueOf(right).IsZero() {
			return object{"empty": t.written(left)}
		}
		return object{"is": []any{t.written(left), right}}
	}
}

// answer translates a call that returns a bool.
func (t *translation) answer(call *ast.CallExpr) object {
	name := calledName(t.source, call)
	switch {
	case strings.HasSuffix(name, ".Enabled"):
		return t.gate(call.Args[0].(*ast.SelectorExpr).Sel.Name)
	case name == "k8s.io/utils/ptr.AllPtrFieldsNil":
		return object{"no": t.fieldsOf(call.Args[0].(*ast.UnaryExpr).X.(*ast.SelectorExpr))}
	}
	inner := t.entered(name, call)
	return inner.condition(inner.body.List[0].(*ast.ReturnStmt).Results[0])
}

func (t *translation) fieldsOf(embedded *ast.SelectorExpr) []any {
	fields := t.source.TypesInfo.TypeOf(embedded).Underlying().(*types.Struct)
	names := []any{}
	for i := range fields.NumFields() {
		names = append(names, jsonName(fields, i))
	}
	return names
}

func (t *translation) gate(name string) object {
	t.program.note(name)
	return object{"gate": name}
}

// note finds since which version a gate is on or off by default.
func (p *program) note(name string) {
	for _, path := range []string{features, serverFeatures} {
		for _, file := range p.packages[path].Syntax {
			ast.Inspect(file, func(node ast.Node) bool {
				pair, ok := node.(*ast.KeyValueExpr)
				if ok {
					p.noteIfCalled(name, p.packages[path], pair)
				}
				return p.gates[name] == nil
			})
		}
	}
	if p.gates[name] == nil {
		panic("no gate " + name)
	}
}

func (p *program) noteIfCalled(name string, source *packages.Package, pair *ast.KeyValueExpr) {
	key, isName := pair.Key.(*ast.Ident)
	specs, isList := pair.Value.(*ast.CompositeLit)
	if isName && isList && key.Name == name && isVersioned(source, specs) {
		p.gates[name] = versions(source, specs)
	}
}

func isVersioned(source *packages.Package, specs *ast.CompositeLit) bool {
	return strings.HasSuffix(source.TypesInfo.TypeOf(specs).String(), "featuregate.VersionedSpecs")
}

func versions(source *packages.Package, specs *ast.CompositeLit) []any {
	found := []any{}
	for _, each := range specs.Elts {
		var since, on any
		for _, field := range each.(*ast.CompositeLit).Elts {
			pair := field.(*ast.KeyValueExpr)
			switch pair.Key.(*ast.Ident).Name {
			case "Version":
				since = literal(source.TypesInfo.Types[pair.Value.(*ast.CallExpr).Args[0]].Value)
			case "Default":
				on = literal(source.TypesInfo.Types[pair.Value].Value)
			}
		}
		found = append(found, []any{since, on})
	}
	return found
}
