package cel

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/lintel-bot/lintel/engine/admission"
)

var noon = time.Date(2026, 3, 4, 12, 30, 45, 0, time.UTC)

// result evaluates an expression: its value as text, or the error.
func result(t testing.TB, source string, cluster admission.Cluster) string {
	t.Helper()
	c, err := newCompiler(document(t, mpOf(applies("Object{}"))))
	if err != nil {
		t.Fatal(err)
	}
	x := c.compile("/spec", source)
	if x == nil {
		return "error: " + c.problems[0].Message
	}
	r := &admission.Request{Operation: admission.Create, Object: object(t, mutatedPod)}
	a := &activation{ctx: t.Context(), state: &evaluation{lang: c.lang, request: r, object: r.Object,
		env: Env{Now: noon, Cluster: cluster}}}
	v, err := x.eval(a)
	if err != nil {
		return "error: " + err.Error()
	}
	s, ok := v.ConvertToType(types.StringType).(types.String)
	if !ok {
		return "a " + v.Type().TypeName()
	}
	return string(s)
}

func TestLibraries(t *testing.T) {
	tests := []struct{ source, want string }{
		{`time.now() == timestamp("2026-03-04T12:30:45Z")`, "true"},
		{`time.now() < timestamp("2026-03-04T12:30:46Z") && time.now().getFullYear() == 2026`, "true"},
		{`string(time.truncate(time.now(), duration("1h")))`, "2026-03-04T12:00:00Z"},
		{`time.toCron(timestamp("2026-03-04T12:30:45Z"))`, "30 12 4 3 3"},
		{`time_now()`, "2026-03-04T12:30:45Z"},
		{`time_add(time_now(), "30m")`, "2026-03-04T13:00:45Z"},
		{`time_diff("2026-03-04T12:00:00Z", "2026-03-04T13:00:00Z")`, "1h0m0s"},
		{`time_before("2026-03-04T12:00:00Z", "2026-03-04T13:00:00Z")`, "true"},
		{`time.truncate("x", duration("1h"))`, "error: the expression does not compile"},
		{`random.random() == random.random() && random("[a-z]{4}").size() > 0`, "true"},
		{`gzip.decompress(gzip.compress("hello"))`, "hello"},
		{`gzip.decompress(b"hello")`, "error: the data is not compressed"},
		{`hash.sha256("")`, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{`md5("")`, "d41d8cd98f00b204e9800998ecf8427e"},
		{`math.round(2.456, 1)`, "2.5"},
		{`json.unmarshal('{"a": [1, 2]}').a[1]`, "2"},
		{`json.unmarshal('{"a": 1}').a + 1`, "error: no such overload"},
		{`json.unmarshal('{"a": 1}').a == 1 && int(json.unmarshal('{"a": 1}').a) + 1 == 2`, "true"},
		{`string(json.unmarshal('{"a": 12345678}').a)`, "1.2345678e+07"},
		{`json.unmarshal("a: 1")`, "error: the document is not valid"},
		{`yaml.parse("a: 1").a + 1`, "error: no such overload"},
		{`json.marshal({"a": [1, 2]})`, `{"a":[1,2]}`},
		{`json.marshal(object.metadata.labels)`, `{"a/b":"x"}`},
		{`json.unmarshal("{")`, "error: the document is not valid"},
		{`yaml.parse("a: {b: 1}").a.b`, "1"},
		{`yaml.parse("a: &x 1\nb: *x").b`, "error: documents with YAML aliases"},
		{`user.parseServiceAccount("system:serviceaccount:ns:name").Namespace`, "ns"},
		{`parseServiceAccount("system:serviceaccount:ns:name").Name`, "name"},
		{`parseServiceAccount("jane").Name == ""`, "true"},
		{`transform.listObjToMap([{"k": "a"}], [{"v": "b"}], "k", "v").a`, "b"},
		{`listObjToMap([{"k": "a"}], [{"v": "b"}, {"v": "c"}], "k", "v").a`, "error: listObjToMap"},
		{`image("nginx").registry() + "/" + image("nginx").repository() + ":" + image("nginx").tag()`,
			"index.docker.io/library/nginx:latest"},
		{`isImage("UPPER")`, "false"},
		{`jsonpatch.escapeKey("a/b~c")`, "a~1b~0c"},
		{`x509.decode("x")`, "error: failed to decode PEM block"},
		{`http.Get("https://example.com")`, "error: needs the cluster"},
		{`globalContext.Get("x", "")`, "error: needs the cluster"},
		{`resource.Get("v1", "configmaps", "team", "no")`, "error: needs the cluster: ConfigMap team/no"},
		{`resource.Get("v1", "configmaps", "team", "one").data.key`, "k1"},
		{`string(resource.List("v1", "configmaps", "team").items.size())`, "2"},
		{`resource.List("v1", "configmaps", "team", {"app": "two"}).items.map(i, i.metadata.name)[0]`, "two"},
		{`resource.Get("example.com/v1", "oddities", "team", "odd").spec`, "strange"},
		// by the definition of the kind
		{`resource.Get("example.com/v1", "externaldatabases", "team", "db").spec`, "big"},
		{`string(resource.List("example.com/v1", "externaldatabases", "team").items.size())`, "1"},
		{`resource.Get("example.com/v1", "externaldatabases", "team", "no")`,
			"error: needs the cluster: ExternalDatabase team/no"},
		{`resource.Get("other.com/v1", "externaldatabases", "team", "db")`, "error: needs the cluster"},
		// by its name, in one word
		{`resource.Get("example.com/v1", "databases", "team", "db").spec`, "small"},
		{`resource.Get("example.com/v1", "policies", "team", "p").spec`, "strict"},
		{`resource.Get("example.com/v1", "boxes", "team", "b").spec`, "square"},
		{`resource.Get("example.com/v1", "cases", "team", "c").spec`, "closed"},
		// by the kind itself
		{`resource.Get(resource.ToGVR("example.com/v1", "TwoWords"), "team", "w").spec`, "both"},
		// not to be mapped
		{`resource.Get("example.com/v1", "twowordses", "team", "w")`, "error: needs the cluster"},
		{`resource.Get("example.com/v1", "s", "team", "w")`, "error: needs the cluster"},
		{`resource.List("example.com/v1", "twowordses", "team")`, "error: needs the cluster: list of twowordses team"},
	}
	cluster := custom{declared{
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team}, data: {key: k1}}`),
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: team, labels: {app: two}}}`),
		object(t, `{apiVersion: example.com/v1, kind: OddThing, metadata: {name: odd, namespace: team}, spec: strange}`),
		object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: externaldatabases.example.com}, `+
			`spec: {group: example.com, names: {plural: externaldatabases, kind: ExternalDatabase}}}`),
		object(t, `{apiVersion: example.com/v1, kind: ExternalDatabase, metadata: {name: db, namespace: team}, spec: big}`),
		object(t, `{apiVersion: example.com/v1, kind: Database, metadata: {name: db, namespace: team}, spec: small}`),
		object(t, `{apiVersion: example.com/v1, kind: Policy, metadata: {name: p, namespace: team}, spec: strict}`),
		object(t, `{apiVersion: example.com/v1, kind: Box, metadata: {name: b, namespace: team}, spec: square}`),
		object(t, `{apiVersion: example.com/v1, kind: Case, metadata: {name: c, namespace: team}, spec: closed}`),
		object(t, `{apiVersion: example.com/v1, kind: TwoWords, metadata: {name: w, namespace: team}, spec: both}`),
	}}
	for _, tt := range tests {
		if got := result(t, tt.source, cluster); got != tt.want &&
			!(strings.HasPrefix(tt.want, "error: ") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: got %q, want %q", tt.source, got, tt.want)
		}
	}
}

// custom is a cluster that knows a custom resource.
type custom struct{ declared }

func (custom) KindOf(_, resource string) string {
	if resource == "oddities" {
		return "OddThing"
	}
	return ""
}

func TestCertificates(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "lintel"}, Issuer: pkix.Name{CommonName: "lintel"},
		NotBefore: noon, NotAfter: noon.Add(time.Hour), DNSNames: []string{"lintel.example.com"},
	}
	encode := func(template *x509.Certificate, public, private any) string {
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.Quote(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	certificate := encode(template, key.Public(), key)
	for source, want := range map[string]string{
		".Issuer.CommonName": "lintel", ".NotAfter": "2026-03-04T13:30:45Z", ".DNSNames[0]": "lintel.example.com",
		".PublicKey.N": key.N.String(), ".SerialNumber": "7",
	} {
		if got := result(t, "x509.decode("+certificate+")"+source, nil); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if got := result(t, "x509.decode("+encode(template, other.Public(), other)+")", nil); !strings.Contains(got, "rsa") {
		t.Errorf("a key that is not of RSA: got %q", got)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: "r"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := strconv.Quote(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})))
	if got := result(t, "x509.decode("+text+").Subject.CommonName", nil); got != "r" {
		t.Errorf("a request: got %q", got)
	}
}

// TestCostIsStillBounded runs expressions that no quick program may run to their end.
func TestCostIsStillBounded(t *testing.T) {
	list := "[" + strings.Repeat("1, ", 400) + "1]"
	for source, metered := range map[string]bool{
		list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c > 0)))":        false,
		`"x".replace("", "xxxxxxxxxxxxxxxx").replace("", "xxxxxxxxxxxxxxxx").size() > 0`: true,
		"lists.range(100000000).size() > 0":                                              true,
		`"a" + "a" + "a" + "a" + "a" + "a" + "a" + "a" == ""`:                            true,
		"object.spec.containers.all(c, c.name != 'x')":                                   false,
	} {
		c, err := newCompiler(document(t, mpOf(applies("Object{}"))))
		if err != nil {
			t.Fatal(err)
		}
		x := c.compile("/spec", source)
		if x == nil {
			t.Fatal(c.problems)
		}
		if (x.quick == nil) != metered {
			t.Errorf("%.60s: metered is %v", source, !metered)
		}
		c.doc = document(t, elsewhere(podPolicy(validates("true"))))
		if x = c.compile("/spec", source); x == nil || (x.quick == nil) != metered {
			t.Errorf("%.60s, for the API server: %v, %+v", source, c.problems, x)
		}
	}
	if got := result(t, list+".all(a, "+list+".all(b, "+list+".all(c, a + b + c > 0)))", nil); !strings.Contains(got,
		"cost limit") {
		t.Errorf("a loop of 64 million iterations: got %q", got)
	}
	short := "[" + strings.Repeat("1, ", 150) + "1]"
	for i, loops := range []string{
		"#.all(a, #.all(b, #.all(c, a + b + c > 0)))",
		"#.exists(a, #.exists(b, #.exists(c, a + b + c < 0)))",
		"#.exists_one(a, #.exists_one(b, #.exists_one(c, a + b + c < 0)))",
		"#.map(a, #.map(b, #.map(c, a + b + c).size()).size()).size() > 0",
		"#.filter(a, #.filter(b, #.filter(c, a + b + c > 0).size() > 0).size() > 0).size() > 0",
		"#.all(i, a, #.all(j, b, #.all(k, c, a + b + c + i > 0)))",
		"#.exists(i, a, #.exists(j, b, #.exists(k, c, a + b + c + i < 0)))",
		"#.existsOne(i, a, #.existsOne(j, b, #.existsOne(k, c, a + b + c + i < 0)))",
		"#.transformList(i, a, #.transformList(j, b, #.transformList(k, c, a + b).size()).size()).size() > 0",
		"#.transformMap(i, a, #.transformMap(j, b, #.transformMap(k, c, a + b).size()).size()).size() > 0",
		"#.transformMapEntry(i, a, #.transformMapEntry(j, b, #.transformMapEntry(k, c, {k: a}).size() > 0, {j: b})" +
			".size() > 0, {i: a}).size() > 0",
		"cel.bind(l, #, l.all(a, l.all(b, l.all(c, a + b + c > 0))))",
		"#.all(a, #.all(b, #.all(c, !(a + b + c > 0) || true)))",
	} {
		if testing.Short() && i%4 > 0 {
			continue // each takes a third of a second: make test-all
		}
		if got := result(t, strings.ReplaceAll(loops, "#", short), nil); !strings.Contains(got, "cost limit") {
			t.Errorf("three million iterations of %s: got %q", loops, got)
		}
	}
	var doubling strings.Builder
	doubling.WriteString("  variables:\n  - {name: v0, expression: '\"aaaaaaaa\"'}\n")
	for i := range 40 {
		fmt.Fprintf(&doubling, "  - {name: v%d, expression: variables.v%d + variables.v%d}\n", i+1, i, i)
	}
	got := mustVP(t, podPolicy(doubling.String()+validates("variables.v40 != ''"))).Evaluate(t.Context(),
		&admission.Request{Operation: admission.Create, Object: object(t, twoContainers)}, Env{})
	if len(got) != 1 || !strings.Contains(got[0].Message, "at most 4194304 bytes") {
		t.Errorf("a text doubled 40 times: got %.300v", got)
	}
	long := `"` + strings.Repeat("a", 20000) + `"`
	for source, want := range map[string]string{
		"lists.range(2000000000).size()":                         "at most 100000 elements",
		"lists.range(-1).size()":                                 "0",
		"lists.range(3) == [0, 1, 2]":                            "true",
		long + `.replace("a", ` + long + `).size()`:              "more than 4194304 bytes",
		`"a-b-c".replace("-", "+")`:                              "a+b+c",
		`"a-b-c".replace("-", "+", 1)`:                           "a+b-c",
		`"a-b-c".replace("-", "+", 0)`:                           "a-b-c",
		`regex.replace("banana", "a", "x", 1)`:                   "bxnana",
		`regex.replace("banana", "(n)a", "\\1")`:                 "bann",
		`regex.replace("a", "a", ` + long + `)`:                  "more than 1024 bytes",
		`regex.extract("item-A, item-B", "item-(\\w+)").value()`: "A",
		`["a", "b"].join(` + long + `)`:                          "more than 1024 bytes",
		`["a", "b"].join("-")`:                                   "a-b",
		`"%.2f".format([3.14159])`:                               "3.14",
		`"%s and %d".format(["x", 3])`:                           "x and 3",
		`"%.999999999f".format([3.14159])`:                       "at most 100 digits",
		`dyn(1).replace("a", "b")`:                               "no such overload",
		`json.encode({"a": 1})`:                                  "undeclared reference",
	} {
		if got := result(t, source, nil); !strings.Contains(got, want) {
			t.Errorf("%.60s: got %.200q, want %q", source, got, want)
		}
	}
	for _, source := range []string{
		"lists.range(2000000000).size() > 0", long + `.replace("a", ` + long + `) != ""`, `"%.999999999f".format([3.14159]) != ""`,
		`["a", "b"].join(` + long + `) != ""`,
	} {
		got := mustVP(t, elsewhere(podPolicy(validates(source)))).Evaluate(t.Context(),
			&admission.Request{Operation: admission.Create, Object: object(t, twoContainers)}, Env{})
		if len(got) != 1 || !strings.Contains(got[0].Message, "at most") && !strings.Contains(got[0].Message, "more than") {
			t.Errorf("%.60s, for the API server: %.300v", source, got)
		}
	}
}
