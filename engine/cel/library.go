package cel

import (
	"bytes"
	"compress/gzip"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// libraryFunctions declares Kyverno's libraries time, gzip and x509, and the long names of functions that are
// also known by a short one (https://kyverno.io/docs/policy-types/cel-libraries/).
func libraryFunctions() []cel.EnvOption {
	dyn, str, list := cel.DynType, cel.StringType, cel.ListType(cel.DynType)
	return []cel.EnvOption{
		cel.Function("time.truncate", cel.Overload("time_truncate", []*cel.Type{cel.TimestampType, cel.DurationType},
			cel.TimestampType, cel.BinaryBinding(truncate))),
		cel.Function("time.toCron", cel.Overload("time_to_cron", []*cel.Type{cel.TimestampType}, str,
			cel.UnaryBinding(toCron))),
		cel.Function("gzip.compress", cel.Overload("gzip_compress", []*cel.Type{dyn}, cel.BytesType, text1(compress))),
		cel.Function("gzip.decompress", cel.Overload("gzip_decompress", []*cel.Type{cel.BytesType}, str,
			cel.UnaryBinding(decompress))),
		cel.Function("x509.decode", cel.Overload("x509_decode_string", []*cel.Type{str}, dyn, text1(decodeCertificate))),
		cel.Function("user.parseServiceAccount", cel.Overload("user_parse_service_account_string", []*cel.Type{str}, dyn,
			text1(parseServiceAccount))),
		cel.Function("transform.listObjToMap", cel.Overload("transform_list_obj_to_map", []*cel.Type{list, list, str, str},
			cel.MapType(str, dyn), cel.FunctionBinding(listToMap))),
	}
}

// engineReceiver is like engineMacro for a function of a library: time.now().
func engineReceiver(library, name, method string, args int) cel.Macro {
	return cel.ReceiverMacro(name, args,
		func(eh cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
			if !isIdent(target, library) {
				return nil, nil
			}
			call := eh.NewMemberCall(method, eh.NewIdent(identEngine), args...)
			if method == callNow {
				// Its type is known, unlike that of other methods.
				return eh.NewCall(overloads.TypeConvertTimestamp, call), nil
			}
			return call, nil
		})
}

func truncate(at, to ref.Val) ref.Val {
	t, ok := at.(types.Timestamp)
	d, ok2 := to.(types.Duration)
	if !ok || !ok2 {
		return types.MaybeNoSuchOverloadErr(at)
	}
	return types.Timestamp{Time: t.Truncate(d.Duration)}
}

func toCron(at ref.Val) ref.Val {
	t, ok := at.(types.Timestamp)
	if !ok {
		return types.MaybeNoSuchOverloadErr(at)
	}
	var b []byte
	for i, n := range []int{t.Minute(), t.Hour(), t.Day(), int(t.Month()), int(t.Weekday())} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return types.String(b)
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

func decompress(arg ref.Val) ref.Val {
	data, ok := arg.(types.Bytes)
	if !ok {
		return types.MaybeNoSuchOverloadErr(arg)
	}
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

// decodeCertificate reads a certificate or a certificate request in PEM form into the fields of the types of
// crypto/x509, as x509.decode of Kyverno does. Like there, keys have to be of RSA.
func decodeCertificate(text string) ref.Val {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return types.NewErr("failed to decode PEM block")
	}
	var fields any
	var key any
	switch block.Type {
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return types.NewErr("the certificate cannot be read")
		}
		fields, key = c, c.PublicKey
		c.PublicKey = nil // its numbers are too large for JSON
	case "CERTIFICATE REQUEST":
		c, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return types.NewErr("the certificate request cannot be read")
		}
		fields, key = c, c.PublicKey
		c.PublicKey = nil // its numbers are too large for JSON
	default:
		return types.NewErr("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")
	}
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return types.NewErr("certificate should use rsa algorithm")
	}
	out, err := asJSON(fields)
	if err != nil {
		return types.NewErr("the certificate cannot be read")
	}
	out["PublicKey"] = map[string]any{"N": public.N.String(), "E": int64(public.E)}
	for _, k := range []string{"NotBefore", "NotAfter"} {
		if s, ok := out[k].(string); ok {
			if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
				out[k] = t.UTC().Format(time.RFC3339)
			}
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

func asJSON(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write as JSON: %w", err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read as JSON: %w", err)
	}
	return out, nil
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
