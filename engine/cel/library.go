package cel

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/lintel-bot/lintel/engine/jmespath"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// libraryFunctions declares Kyverno's libraries time, gzip and x509
// (https://kyverno.io/docs/policy-types/cel-libraries/).
func libraryFunctions() []cel.EnvOption {
	dyn, str := cel.DynType, cel.StringType
	return []cel.EnvOption{
		function("time.truncate", []*cel.Type{cel.TimestampType, cel.DurationType}, cel.TimestampType,
			binary(truncate)),
		function("time.toCron", []*cel.Type{cel.TimestampType}, str, unary(toCron)),
		function("gzip.compress", []*cel.Type{dyn}, cel.BytesType, text1(compress)),
		function("gzip.decompress", []*cel.Type{cel.BytesType}, str, unary(decompress)),
		function("x509.decode", []*cel.Type{str}, dyn, text1(decodeCertificate)),
	}
}

// engineMacro turns a function that needs the evaluation (its time or its seed) into a method of the evaluation. library is
// the one whose function it is: time.now().
func engineMacro(library, name, method string, args int) cel.Macro {
	expand := func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if library != "" && !isIdent(target, library) {
			return nil, nil
		}
		call := eh.NewMemberCall(method, eh.NewIdent(identEngine), args...)
		if method == callNow {
			// Its type is known, unlike that of other methods.
			return eh.NewCall(overloads.TypeConvertTimestamp, call), nil
		}
		return call, nil
	}
	if library == "" {
		return cel.GlobalMacro(name, args, expand)
	}
	return cel.ReceiverMacro(name, args, expand)
}

func truncate(at types.Timestamp, to types.Duration) ref.Val {
	return types.Timestamp{Time: at.Truncate(to.Duration)}
}

func toCron(t types.Timestamp) ref.Val {
	return types.String(fmt.Sprintf("%d %d %d %d %d", t.Minute(), t.Hour(), t.Day(), t.Month(), t.Weekday()))
}

func compress(s string) ref.Val {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		return types.WrapErr(err)
	}
	if err := w.Close(); err != nil {
		return types.WrapErr(err)
	}
	return types.Bytes(b.Bytes())
}

func decompress(data types.Bytes) ref.Val {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return types.NewErr("the data is not compressed with gzip")
	}
	out, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	switch {
	case err != nil:
		return types.NewErr("the data is not compressed with gzip")
	case len(out) > maxDocument:
		return types.NewErr("the data is larger than %d bytes", maxDocument)
	}
	return types.String(out)
}

// decodeCertificate is x509.decode, of which Kyverno has one for JMESPath, too.
func decodeCertificate(text string) ref.Val {
	data, err := jmespath.CertificateJSON(text)
	if err != nil {
		return types.WrapErr(err)
	}
	var out any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

// marshal is json.marshal(value).
func marshal(v ref.Val) ref.Val {
	x := &exporter{left: maxValues}
	native, err := x.export(v, "", 0)
	if err != nil {
		return types.WrapErr(err)
	}
	data, err := json.Marshal(native)
	if err != nil {
		return types.NewErr("the value cannot be written as JSON")
	}
	return types.String(data)
}
