package cel

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// lookup is a map whose entries are computed when they are asked for: variables, and objects of which only
// a part is known. It cannot be listed.
type lookup struct {
	opaque
	find func(key string) (ref.Val, bool)
	// whole is asked where all entries are needed; it gives an error. What cannot pass the error on, which is
	// iterating, has the evaluation remember it.
	whole func() ref.Val
}

func (l *lookup) Find(key ref.Val) (ref.Val, bool) {
	s, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	return l.find(string(s))
}

func (l *lookup) Get(key ref.Val) ref.Val {
	v, ok := l.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return v
}

func (l *lookup) Contains(key ref.Val) ref.Val {
	v, ok := l.Find(key)
	if ok && types.IsError(v) {
		return v
	}
	return types.Bool(ok)
}

func (l *lookup) Iterator() traits.Iterator {
	l.whole()
	return types.NewStringList(types.DefaultTypeAdapter, nil).Iterator()
}
func (l *lookup) Size() ref.Val  { return l.whole() }
func (l *lookup) Type() ref.Type { return types.MapType }
func (l *lookup) Value() any     { return l }
func (l *lookup) Equal(other ref.Val) ref.Val {
	if _, isMap := other.(traits.Mapper); isMap && ref.Val(l) != other {
		return l.whole()
	}
	return types.Bool(ref.Val(l) == other)
}

func (l *lookup) ConvertToType(t ref.Type) ref.Val { return converted(l, types.MapType, t) }

// opaque is what values have in common that are nothing outside of expressions.
type opaque struct{}

func (opaque) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("this value cannot become %v", t)
}

// converted returns a value of a type that converts to no other one.
func converted(v ref.Val, kind *types.Type, to ref.Type) ref.Val {
	switch to.TypeName() {
	case types.TypeType.TypeName():
		return kind
	case kind.TypeName():
		return v
	}
	return types.NewErr("a value of type %s cannot become %s", kind.TypeName(), to.TypeName())
}

// allowance is what exceptions let through: kyverno.allowedValues and exceptions.allowedValues. It is a list
// of values and a map of named lists in one, since both forms of an exception have to work with both forms
// of a policy. A name that no exception gives is an empty list.
type allowance struct {
	values []string
	named  map[string][]string
}

// all is the unnamed values followed by the named ones, in the order of the names.
func (a *allowance) all() []string {
	out := slices.Clone(a.values)
	for _, k := range sortedKeys(a.named) {
		out = append(out, a.named[k]...)
	}
	return out
}

func stringList(s []string) traits.Lister {
	if s == nil {
		s = []string{}
	}
	return types.NewStringList(types.DefaultTypeAdapter, s)
}

// allowed is an allowance as expressions see it: a list with all values that is a map, too.
type allowed struct {
	traits.Lister
	*allowance
}

func (a allowed) Find(key ref.Val) (ref.Val, bool) {
	switch k := key.(type) {
	case types.String:
		return stringList(a.named[string(k)]), true
	case types.Int:
		if k < 0 || int(k) >= len(a.all()) {
			return nil, false
		}
		return a.Lister.Get(k), true
	}
	return types.MaybeNoSuchOverloadErr(key), true
}

func (a allowed) Get(key ref.Val) ref.Val {
	v, ok := a.Find(key)
	if !ok {
		return types.NewErr("index out of bounds: %v", key)
	}
	return v
}

// Contains evaluates the operator in, for a value that is let through and for the name of a list.
func (a allowed) Contains(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	if !ok {
		return types.False
	}
	_, named := a.named[string(s)]
	return types.Bool(named || slices.Contains(a.values, string(s)))
}

func (a allowed) Iterator() traits.Iterator {
	if len(a.named) > 0 && len(a.values) == 0 {
		return stringList(sortedKeys(a.named)).Iterator()
	}
	return a.Lister.Iterator()
}

func (a allowed) Size() ref.Val {
	if len(a.named) > 0 && len(a.values) == 0 {
		return types.Int(len(a.named))
	}
	return types.Int(len(a.values))
}

func (a allowed) Type() ref.Type { return types.MapType }

func (a allowed) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return a
	case types.TypeType:
		return types.MapType
	}
	return a.Lister.ConvertToType(t)
}
