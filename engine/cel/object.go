package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The names of the types that mutations are written with
// (https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/): Object and the fields
// below it, Object.spec and so on, for apply configurations, JSONPatch for JSON patches.
const (
	objectTypeName = "Object"
	patchTypeName  = "JSONPatch"
)

// mutationProvider makes literals of the types of mutations known. Schemas are not known, so that an object
// may have any field.
type mutationProvider struct{ types.Provider }

// mutationTypes adds the types of mutations to an environment; it comes after all other types.
func mutationTypes() cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		return cel.CustomTypeProvider(mutationProvider{e.CELTypeProvider()})(e)
	}
}

func isMutationType(name string) bool {
	return name == patchTypeName || name == objectTypeName || strings.HasPrefix(name, objectTypeName+".")
}

func (p mutationProvider) FindStructType(name string) (*types.Type, bool) {
	if isMutationType(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

func (p mutationProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	switch {
	case name == patchTypeName:
		switch field {
		case "op", "path", "from":
			return &types.FieldType{Type: types.StringType}, true
		case "value":
			return &types.FieldType{Type: types.DynType}, true
		}
		return nil, false
	case isMutationType(name):
		return &types.FieldType{Type: types.DynType}, true
	}
	return p.Provider.FindStructFieldType(name, field)
}

func (p mutationProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if isMutationType(name) {
		return &literal{opaque{}, types.NewObjectType(name), fields, types.NewDynamicMap(types.DefaultTypeAdapter, fields)}
	}
	return p.Provider.NewValue(name, fields)
}

// literal is the value of an expression like Object.spec{replicas: 3} or JSONPatch{op: "remove", path: "/a"}.
type literal struct {
	opaque
	kind   *types.Type
	fields map[string]ref.Val
	byKey  traits.Mapper // the same fields
}

var (
	_ traits.Indexer     = (*literal)(nil)
	_ traits.FieldTester = (*literal)(nil)
	_ traits.Zeroer      = (*literal)(nil)
)

// Get implements traits.Indexer.
func (l *literal) Get(index ref.Val) ref.Val { return l.byKey.Get(index) }

// IsSet implements traits.FieldTester.
func (l *literal) IsSet(field ref.Val) ref.Val { return l.byKey.Contains(field) }

// IsZeroValue implements traits.Zeroer.
func (l *literal) IsZeroValue() bool { return len(l.fields) == 0 }

// The methods of ref.Val.

func (l *literal) ConvertToType(t ref.Type) ref.Val { return converted(l, l.kind, t) }

func (l *literal) Equal(other ref.Val) ref.Val {
	o, ok := other.(*literal)
	if !ok || o.kind.TypeName() != l.kind.TypeName() || len(o.fields) != len(l.fields) {
		return types.False
	}
	for k, v := range l.fields {
		w, ok := o.fields[k]
		if !ok || types.Equal(v, w) != types.True {
			return types.False
		}
	}
	return types.True
}

func (l *literal) Type() ref.Type { return l.kind }
func (l *literal) Value() any     { return l }

// Limits of the value of a mutation.
const (
	maxValueDepth = 100
	maxValues     = 1 << 20
)

// exporter turns values of the language into JSON as objects have it. at is the name of the type that an
// object at this place has; empty where the place is not known, as in the value of a JSON patch.
type exporter struct{ left int }

func (x *exporter) export(v ref.Val, at string, depth int) (any, error) {
	if x.left--; x.left < 0 || depth > maxValueDepth {
		return nil, fmt.Errorf("the value of the mutation is too large")
	}
	switch c := v.(type) {
	case nil, types.Null:
		return nil, nil
	case types.Bool:
		return bool(c), nil
	case types.Int:
		return int64(c), nil
	case types.Uint:
		return int64(c), nil //nolint:gosec // JSON has no larger integers either
	case types.Double:
		return float64(c), nil
	case types.String:
		return string(c), nil
	case types.Bytes, types.Timestamp, types.Duration:
		s, ok := v.ConvertToType(types.StringType).(types.String)
		if !ok {
			return nil, fmt.Errorf("a value of type %s has no text", v.Type().TypeName())
		}
		return string(s), nil
	case *types.Optional:
		if !c.HasValue() {
			return nil, nil
		}
		return x.export(c.GetValue(), at, depth)
	case *literal:
		return x.object(c, at, depth)
	case traits.Lister:
		n, _ := c.Size().(types.Int)
		out := make([]any, 0, max(0, min(int(n), x.left)))
		for it := c.Iterator(); it.HasNext() == types.True; {
			item, err := x.export(it.Next(), at, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	case traits.Mapper:
		return x.mapping(c, at, depth)
	}
	if unknown, is := v.(*types.Unknown); is {
		return nil, needsLive(unknown)
	}
	if err, ok := v.Value().(error); ok {
		return nil, err
	}
	return nil, fmt.Errorf("a value of type %s cannot be written into an object", v.Type().TypeName())
}

func (x *exporter) mapping(m traits.Mapper, at string, depth int) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("a key of type %s cannot be written into an object", key.Type().TypeName())
		}
		value, err := x.export(m.Get(key), at, depth+1)
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

// object writes a literal. Its type has to be that of the place it stands at: Object.spec{selector:
// Object.spec.wrong{}} is refused, as the API server does.
func (x *exporter) object(l *literal, at string, depth int) (any, error) {
	name := l.kind.TypeName()
	if name == patchTypeName {
		return nil, fmt.Errorf("a JSONPatch cannot be written into an object")
	}
	if at != "" && name != at {
		return nil, fmt.Errorf("type mismatch: the type is %s where %s is expected", name, at)
	}
	out := make(map[string]any, len(l.fields))
	for k, v := range l.fields {
		value, err := x.export(v, name+"."+k, depth+1)
		if err != nil {
			return nil, err
		}
		out[k] = value
	}
	return out, nil
}

// exportObject gives the apply configuration that an expression made.
func exportObject(v ref.Val) (map[string]any, error) {
	l, ok := v.(*literal)
	if !ok || l.kind.TypeName() != objectTypeName {
		return nil, fmt.Errorf("the expression returns %s, not Object", v.Type().TypeName())
	}
	x := &exporter{left: maxValues}
	out, err := x.export(l, objectTypeName, 0)
	if err != nil {
		return nil, err
	}
	return out.(map[string]any), nil //nolint:forcetypeassert // what a literal becomes
}

// exportPatch gives the JSON patch that an expression made.
func exportPatch(v ref.Val) ([]any, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("the expression returns %s, not a list of JSONPatch", v.Type().TypeName())
	}
	x := &exporter{left: maxValues}
	out := []any{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		l, ok := item.(*literal)
		if !ok || l.kind.TypeName() != patchTypeName {
			return nil, fmt.Errorf("the list holds %s, not only JSONPatch", item.Type().TypeName())
		}
		op := map[string]any{}
		for _, k := range sortedKeys(l.fields) {
			value := l.fields[k]
			root := ""
			if o, ok := value.(*literal); ok {
				root = o.kind.TypeName() // what is in it has to fit to it
			}
			native, err := x.export(value, root, 0)
			if err != nil {
				return nil, err
			}
			op[k] = native
		}
		out = append(out, op)
	}
	return out, nil
}

// makesObjects finds a literal of a mutation type, which only mutations may have.
func makesObjects(e ast.Expr) (found ast.Expr) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if found == nil && e.Kind() == ast.StructKind && isMutationType(e.AsStruct().TypeName()) {
			found = e
		}
	}))
	return found
}
