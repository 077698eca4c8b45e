package cel

import (
	"crypto/md5"  //nolint:gosec // a function of the language, not a protection
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxDocument limits the input of json.unmarshal and yaml.parse, in bytes.
const maxDocument = 1 << 20

// functions declares the functions that Kyverno adds to CEL, except those for images. Functions of time, randomness and
// look-ups are methods of values that the evaluation supplies.
func functions() []cel.EnvOption {
	dyn, str, list := cel.DynType, cel.StringType, cel.ListType(cel.DynType)
	objects, one, two := []*cel.Type{list, list, str, str}, []*cel.Type{str}, []*cel.Type{str, str}
	out := []cel.EnvOption{
		cel.Function(callHasIndex, hasIndexOverload()),
		function("parseServiceAccount", one, dyn, text1(parseServiceAccount)),
		function("user.parseServiceAccount", one, dyn, text1(parseServiceAccount)),
		function("listObjToMap", objects, cel.MapType(str, dyn), cel.FunctionBinding(listToMap)),
		function("transform.listObjToMap", objects, cel.MapType(str, dyn), cel.FunctionBinding(listToMap)),
		function("math.round", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType, binary(round)),
		function("time_parse", two, str, text2(func(layout, value string) ref.Val {
			t, err := time.Parse(layout, value)
			return rfc3339(t, err)
		})),
		function("time_add", two, str, text2(func(at, by string) ref.Val {
			t, err := time.Parse(time.RFC3339, at)
			if err != nil {
				return types.WrapErr(err)
			}
			d, err := time.ParseDuration(by)
			return rfc3339(t.Add(d), err)
		})),
		function("time_diff", two, str,
			instants(func(a, b time.Time) ref.Val { return types.String(b.Sub(a).String()) })),
		function("time_before", two, cel.BoolType,
			instants(func(a, b time.Time) ref.Val { return types.Bool(a.Before(b)) })),
		function("time_after", two, cel.BoolType,
			instants(func(a, b time.Time) ref.Val { return types.Bool(a.After(b)) })),
	}
	for name, sum := range map[string]func([]byte) []byte{
		"md5":    func(b []byte) []byte { s := md5.Sum(b); return s[:] },  //nolint:gosec // see the import
		"sha1":   func(b []byte) []byte { s := sha1.Sum(b); return s[:] }, //nolint:gosec // see the import
		"sha256": func(b []byte) []byte { s := sha256.Sum256(b); return s[:] },
	} {
		hash := text1(func(s string) ref.Val { return types.String(hex.EncodeToString(sum([]byte(s)))) })
		out = append(out, function(name, one, str, hash), function("hash."+name, one, str, hash))
	}
	// The methods of json, yaml, resource and the services, for each number of arguments: the receiver decides which
	// one is called.
	for _, name := range []string{
		"Get", "get", "List", "list", "Post", "post", "Client", "client", "ToGVR", "toGVR", "GetMetadata", "getMetadata",
		"Unmarshal", "unmarshal", "Parse", "parse", "__time_now", "__time_now_utc", "__random", callNow, "Marshal", "marshal",
	} {
		var overloads []cel.FunctionOpt
		for n := range 5 {
			params := make([]*cel.Type, n+1)
			for i := range params {
				params[i] = dyn
			}
			overloads = append(overloads, cel.MemberOverload(fmt.Sprintf("method_%s_%d", name, n), params, dyn,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					if m, ok := args[0].(methods); ok {
						return m.call(name, args[1:])
					}
					return types.MaybeNoSuchOverloadErr(args[0])
				})))
		}
		out = append(out, cel.Function(name, overloads...))
	}
	return out
}

// function declares a function with a single overload.
func function(name string, args []*cel.Type, result *cel.Type, binding cel.OverloadOpt) cel.EnvOption {
	return cel.Function(name, cel.Overload("kyverno_"+name, args, result, binding))
}

// methods is a value that only has methods.
type methods struct {
	opaque
	call func(name string, args []ref.Val) ref.Val
}

func (m methods) ConvertToType(t ref.Type) ref.Val { return converted(m, methodsType, t) }
func (m methods) Equal(ref.Val) ref.Val            { return types.False }
func (m methods) Type() ref.Type                   { return methodsType }
func (m methods) Value() any                       { return nil }

var methodsType = cel.ObjectType("kyverno.library")

// unary is the implementation of a function for an argument of one type.
func unary[T ref.Val](f func(T) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		v, ok := arg.(T)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(v)
	})
}

// binary is unary for two arguments.
func binary[A, B ref.Val](f func(A, B) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(first, second ref.Val) ref.Val {
		a, ok := first.(A)
		b, ok2 := second.(B)
		if !ok || !ok2 {
			return types.MaybeNoSuchOverloadErr(first)
		}
		return f(a, b)
	})
}

func text1(f func(string) ref.Val) cel.OverloadOpt {
	return unary(func(s types.String) ref.Val { return f(string(s)) })
}

func text2(f func(a, b string) ref.Val) cel.OverloadOpt {
	return binary(func(a, b types.String) ref.Val { return f(string(a), string(b)) })
}

func instants(f func(a, b time.Time) ref.Val) cel.OverloadOpt {
	return text2(func(a, b string) ref.Val {
		x, err := time.Parse(time.RFC3339, a)
		if err != nil {
			return types.WrapErr(err)
		}
		y, err := time.Parse(time.RFC3339, b)
		if err != nil {
			return types.WrapErr(err)
		}
		return f(x, y)
	})
}

func rfc3339(t time.Time, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.String(t.Format(time.RFC3339))
}

func hasIndexOverload() cel.FunctionOpt {
	return cel.Overload("has_index_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.BoolType,
		cel.BinaryBinding(hasIndex))
}

// hasIndex implements has(m[key]): whether a map has the key, or a list the index.
func hasIndex(m, key ref.Val) ref.Val {
	switch c := m.(type) {
	case traits.Mapper:
		v, found := c.Find(key)
		if types.IsError(v) {
			return v
		}
		return types.Bool(found)
	case traits.Lister:
		i, ok := key.(types.Int)
		n, _ := c.Size().(types.Int)
		return types.Bool(ok && i >= 0 && i < n)
	}
	return types.MaybeNoSuchOverloadErr(m)
}

func parseServiceAccount(s string) ref.Val {
	account, isAccount := strings.CutPrefix(s, "system:serviceaccount:")
	namespace, name, isWhole := strings.Cut(account, ":")
	if !isAccount || !isWhole {
		namespace, name = "", ""
	}
	return types.DefaultTypeAdapter.NativeToValue(map[string]string{"Name": name, "Namespace": namespace, "name": name,
		"namespace": namespace})
}

func round(v types.Double, digits types.Int) ref.Val {
	if digits < -300 || digits > 300 {
		return types.MaybeNoSuchOverloadErr(v)
	}
	scale := math.Pow(10, float64(digits))
	return types.Double(math.Round(float64(v)*scale) / scale)
}

// listToMap pairs two lists of objects: the keys are a field of the first list's objects, the values a field of the
// second's.
func listToMap(args ...ref.Val) ref.Val {
	keys, ok := args[0].(traits.Lister)
	values, ok2 := args[1].(traits.Lister)
	if !ok || !ok2 || keys.Size() != values.Size() {
		return types.NewErr("listObjToMap takes two lists of equal length")
	}
	n, _ := keys.Size().(types.Int)
	out := make(map[ref.Val]ref.Val, int(n))
	for i := range n {
		k, ok := keys.Get(i).(traits.Indexer)
		v, ok2 := values.Get(i).(traits.Indexer)
		if !ok || !ok2 {
			return types.NewErr("listObjToMap takes lists of objects")
		}
		name, value := k.Get(args[2]), v.Get(args[3])
		if types.IsError(name) {
			return name
		}
		if types.IsError(value) {
			return value
		}
		out[name] = value
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}

// documents are json.unmarshal(text), json.marshal(value) and yaml.parse(text). Numbers are doubles, as there (kyverno/sdk,
// extensions/cel/libs/json/types.go): x + 1 has no such overload.
func documents(read func([]byte) ([]byte, error)) methods {
	return methods{call: func(name string, args []ref.Val) ref.Val {
		if len(args) == 1 && strings.EqualFold(name, "marshal") {
			return marshal(args[0])
		}
		if len(args) != 1 {
			return types.NoSuchOverloadErr()
		}
		text, ok := args[0].Value().(string)
		if !ok {
			return types.NoSuchOverloadErr()
		}
		if len(text) > maxDocument {
			return types.NewErr("the document is larger than %d bytes", maxDocument)
		}
		if strings.Contains(text, "&") && aliases(text) {
			return types.NewErr("documents with YAML aliases are not read")
		}
		var v any
		data, err := read([]byte(text))
		if err == nil {
			err = json.Unmarshal(data, &v)
		}
		if err != nil {
			return types.NewErr("the document is not valid")
		}
		return types.DefaultTypeAdapter.NativeToValue(v)
	}}
}

// aliases reports whether a text may define and use a YAML anchor. JSON strings with both characters are accepted.
func aliases(text string) bool {
	return !json.Valid([]byte(text)) && strings.Contains(text, "*")
}
