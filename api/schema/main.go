// Prints the Go types behind the kinds of Kubernetes: the names, order and types of their fields, and how lists and maps
// of them are merged. An API server decodes into these types, and its error messages and stored objects show them.
//
//	go run . > ../drakit_api/objects/schema.json
//	go run . others > ../../embedded/drakit_embedded/apiserver/scheme/structures.json
//
// The first are those of resource.k8s.io by version, the second those of all other groups by apiVersion.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	v1 "k8s.io/api/resource/v1"
	v1alpha3 "k8s.io/api/resource/v1alpha3"
	v1beta1 "k8s.io/api/resource/v1beta1"
	v1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

var kinds = map[string][]any{
	"v1": {v1.ResourceSlice{}, v1.ResourceClaim{}, v1.ResourceClaimTemplate{}, v1.DeviceClass{}, v1.DeviceTaintRule{}},
	"v1beta2": {
		v1beta2.ResourceSlice{}, v1beta2.ResourceClaim{}, v1beta2.ResourceClaimTemplate{}, v1beta2.DeviceClass{},
		v1beta2.DeviceTaintRule{},
	},
	"v1beta1":  {v1beta1.ResourceSlice{}, v1beta1.ResourceClaim{}, v1beta1.ResourceClaimTemplate{}, v1beta1.DeviceClass{}},
	"v1alpha3": {v1alpha3.DeviceTaintRule{}, v1alpha3.ResourcePoolStatusRequest{}},
}

var others = []func(*runtime.Scheme) error{
	admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme,
	autoscalingv2.AddToScheme, batchv1.AddToScheme,
	certificatesv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
	eventsv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme,
	rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	storagemigrationv1.AddToScheme,
}

// inTexts are types that no field has: they are written as JSON into annotations of autoscaling/v1.
var inTexts = []any{
	autoscalingv1.MetricSpec{}, autoscalingv1.MetricStatus{}, autoscalingv1.HorizontalPodAutoscalerCondition{},
}

// Types that decode themselves.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():    "quantity",
	reflect.TypeFor[metav1.Time]():          "time",
	reflect.TypeFor[metav1.MicroTime]():     "microtime",
	reflect.TypeFor[runtime.RawExtension](): "raw",
	reflect.TypeFor[metav1.FieldsV1]():      "raw",
	reflect.TypeFor[intstr.IntOrString]():   "intorstring",
	reflect.TypeFor[[]byte]():               "bytes",
	// Parts of it decode themselves; the rules of definitions know how.
	reflect.TypeFor[apiextensionsv1.JSONSchemaProps](): "raw",
}

var scalars = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "bool", reflect.Int64: "int64", reflect.Int32: "int32", reflect.Int: "int",
}

var structs = map[string]any{}

// merging is the schema of server-side apply; markers such as +listType, which reflection does not see, end up there.
var merging = func() *schema.Schema {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	typed, err := applyconfigurations.NewTypeConverter(scheme).ObjectToTyped(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
	})
	if err != nil {
		panic(err)
	}
	return typed.Schema()
}()

// extensionKeys are the keys of lists that are maps in apiextensions.k8s.io, whose schema is internal to its module.
var extensionKeys = map[string][]string{"CustomResourceDefinitionStatus.conditions": {"type"}}

// describe gives a type as JSON: a scalar or special name, or {list|map|pointer|struct: ...}; "go" is how messages name it.
// Lists are atomic unless "listType" is set or map, then with their "keys"; maps and structs are only if "atomic" says so.
func describe(t reflect.Type, merge schema.TypeRef) any {
	if name, ok := special[t]; ok {
		return name
	}
	if t.Kind() == reflect.Pointer {
		return map[string]any{"pointer": describe(t.Elem(), merge)}
	}
	atom, _ := merging.Resolve(merge)
	switch t.Kind() {
	case reflect.Slice:
		return describeList(t, atom.List)
	case reflect.Map:
		return atomic(map[string]any{"map": describe(t.Elem(), elements(atom.Map)), "go": t.String()}, atom.Map)
	case reflect.Struct:
		return atomic(map[string]any{"struct": register(t), "go": t.String()}, atom.Map)
	default:
		if t.String() == scalars[t.Kind()] {
			return t.String()
		}
		return map[string]any{"scalar": scalars[t.Kind()], "go": t.String()}
	}
}

func describeList(t reflect.Type, list *schema.List) any {
	described := map[string]any{"go": t.String()}
	if list == nil {
		described["list"] = describe(t.Elem(), schema.TypeRef{})
		return described
	}
	described["list"] = describe(t.Elem(), list.ElementType)
	switch {
	case list.ElementRelationship != schema.Associative:
	case len(list.Keys) == 0:
		described["listType"] = "set"
	default:
		described["listType"], described["keys"] = "map", list.Keys
	}
	return described
}

func elements(of *schema.Map) schema.TypeRef {
	if of == nil {
		return schema.TypeRef{}
	}
	return of.ElementType
}

func atomic(described map[string]any, of *schema.Map) any {
	if of != nil && of.ElementRelationship == schema.Atomic {
		described["atomic"] = true
	}
	return described
}

// mergedFields are the fields of a struct as server-side apply knows them; it has no types that nothing refers to.
func mergedFields(path []string, t reflect.Type) map[string]schema.StructField {
	prefix := "io.k8s.api"
	if path[0] == "meta" {
		prefix = "io.k8s.apimachinery.pkg.apis"
	}
	found := map[string]schema.StructField{}
	if def, ok := merging.FindNamedType(strings.Join(append([]string{prefix}, append(path, t.Name())...), ".")); ok {
		for _, field := range def.Map.Fields {
			found[field.Name] = field
		}
	}
	return found
}

func register(t reflect.Type) string {
	packages := strings.Split(t.PkgPath(), "/")
	path := packages[len(packages)-2:]
	key := strings.Join(path, "/") + "." + t.Name()
	if _, ok := structs[key]; ok {
		return key
	}
	structs[key] = nil
	merged := mergedFields(path, t)
	fields := []any{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		described := map[string]any{
			"name": name, "go": field.Name, "type": describe(field.Type, merged[name].Type),
			"omit": omits(field.Type, options),
		}
		if keys, ok := extensionKeys[t.Name()+"."+name]; ok {
			described["type"] = map[string]any{
				"go": field.Type.String(), "list": describe(field.Type.Elem(), schema.TypeRef{}), "listType": "map", "keys": keys,
			}
		}
		// How kubectl merges a list or a union when it makes a patch.
		for tag, key := range map[string]string{"patchStrategy": "strategy", "patchMergeKey": "key"} {
			if value := field.Tag.Get(tag); value != "" {
				described[key] = value
			}
		}
		if value := merged[name].Default; value != nil && !zero(value) {
			described["default"] = value
		}
		fields = append(fields, described)
	}
	structs[key] = fields
	return key
}

// zero tells whether a default is that of every field of its type.
func zero(value any) bool {
	v := reflect.ValueOf(value)
	return v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0
}

// omits tells whether a field is left out when empty; encoding/json never does that with a struct for omitempty alone.
func omits(t reflect.Type, options string) bool {
	return strings.Contains(options, "omitzero") ||
		strings.Contains(options, "omitempty") && t.Kind() != reflect.Struct
}

func main() {
	roots := resourceKinds
	if len(os.Args) > 1 && os.Args[1] == "others" {
		roots = otherKinds
	}
	if err := print(roots()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func resourceKinds() map[string]map[string]string {
	roots := map[string]map[string]string{}
	for version, objects := range kinds {
		roots[version] = map[string]string{}
		for _, object := range objects {
			t := reflect.TypeOf(object)
			roots[version][t.Name()] = register(t)
		}
	}
	return roots
}

// otherKinds has everything with metadata; lists, options and reviews of subresources are not stored.
func otherKinds() map[string]map[string]string {
	scheme := runtime.NewScheme()
	for _, add := range others {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	roots := map[string]map[string]string{}
	for kind, t := range scheme.AllKnownTypes() {
		if _, ok := t.FieldByName("ObjectMeta"); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		version := kind.GroupVersion().String()
		if roots[version] == nil {
			roots[version] = map[string]string{}
		}
		roots[version][kind.Kind] = register(t)
	}
	for _, object := range inTexts {
		register(reflect.TypeOf(object))
	}
	return roots
}

// print writes one struct a line, so that a new Kubernetes version shows as a readable difference.
func print(roots map[string]map[string]string) error {
	kinds, err := json.Marshal(roots)
	if err != nil {
		return err
	}
	fmt.Printf("{\"kinds\": %s,\n\"structs\": {\n", kinds)
	separator := ""
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		fields, err := json.Marshal(structs[name])
		if err != nil {
			return err
		}
		fmt.Printf("%s%q: %s", separator, name, fields)
		separator = ",\n"
	}
	fmt.Print("\n}}\n")
	return nil
}
