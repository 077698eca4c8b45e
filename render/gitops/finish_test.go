package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestSubstitute(t *testing.T) {
	variables := map[string]Value{"a": {Text: "Hello World"}, "b": {Text: "foo/bar.foo"}, "e": {}, "n": {Text: "4"}}
	tests := []struct{ in, want string }{
		{"x${a}y", "xHello Worldy"}, {"$a $", "$a $"}, {"$${a}", "${a}"}, {"$$$${a}", "$${a}"}, {"${unset}", ""},
		{"${unset:=d}", "d"}, {"${e:-d}", "d"}, {"${a:-d}", "Hello World"}, {"${unset=d}", "d"}, {"${unset:=x${n}y}", "x4y"},
		{"${unset:=${other:-z}}", "z"}, {"${#a}", "11"}, {"${a^^}", "HELLO WORLD"}, {"${a,,}", "hello world"},
		{"${b^}", "Foo/bar.foo"}, {"${a,}", "hello World"},
		{"${a:6}", "World"}, {"${a:0:5}", "Hello"}, {"${a: -3}", "Hello World"}, {"${a:-3}", "Hello World"},
		{"${a:x}", "Hello World"}, {"${a:50}", ""},
		{"${b/foo/x}", "x/bar.foo"}, {"${b//foo/x}", "x/bar.x"}, {"${b/#foo/x}", "x/bar.foo"}, {"${b/%foo/x}", "foo/bar.x"},
		{"${b//foo/}", "/bar."}, {`${b/\//-}`, "foo-bar.foo"},
		{"${b#*o}", "o/bar.foo"}, {"${b##*o}", ""}, {"${b%.*}", "foo/bar"}, {"${b%%/*}", "foo"},
		{"${", "!"}, {"${a", "!"}, {"${}", "!"}, {"${a+b}", "!"}, {"${a-b}", "!"}, {"${a:}", "!"}, {"${a/x}", "!"},
		{"${unset:=" + strings.Repeat("${unset:=", 40) + strings.Repeat("}", 41), "!"},
	}
	for _, test := range tests {
		e := &expansion{text: test.in, variables: variables, limit: 1 << 16}
		got, err := e.run()
		if err != nil {
			got = "!"
		}
		if got != test.want {
			t.Errorf("%s: %q (%v), want %q", test.in, got, err, test.want)
		}
	}
}

func TestFinishChangesResourcesLikeTheController(t *testing.T) {
	at := func(line int) Position { return Position{Path: "k.yaml", Line: line} }
	variables := map[string]Value{"n": {"8080", at(1)}, "t": {"true", at(2)}, "s": {"text", at(3)},
		"l": {"[a, b]", at(4)}, "bad": {"a: b: c", at(5)}, "e": {"", at(6)}}
	tests := map[string]struct {
		d              Deployment
		in, want       string
		writes, issues []string
	}{
		"substitution changes the type": {
			d:    Deployment{Substitute: Substitution{Variables: variables}},
			in:   "a: ${n}\nb: \"${t}\"\nc: x${n}\nd: ${l}\ne: ${e}\nf: '${s}: x'\n${s}/k: v\ng: |\n  ${n}\n  ${t}\n",
			want: "a: 8080\nb: true\nc: x8080\nd: [a, b]\ne: null\nf: 'text: x'\ntext/k: v\ng: |\n  8080\n  true\n",
			writes: []string{"/a substitute [k.yaml:1:0]", "/b substitute [k.yaml:2:0]", "/c substitute [k.yaml:1:0]",
				"/d substitute [k.yaml:4:0]", "/e substitute [k.yaml:6:0]", "/f substitute [k.yaml:3:0]",
				"/text~1k substitute [k.yaml:3:0]",
				"/g substitute [k.yaml:1:0 k.yaml:2:0]"},
		},
		"variable that nothing sets": {
			d: Deployment{Substitute: Substitution{Variables: variables}}, in: "a: x${gone}\nb: ${gone:-d}\n",
			want:   "a: x\nb: d\n",
			writes: []string{"/a substitute []", "/b substitute []"},
			issues: []string{"/a advice nothing sets the variable \"gone\": Flux replaces it with an empty string"},
		},
		"variable that the cluster may set": {
			d:  Deployment{Substitute: Substitution{Variables: variables, Unread: []Position{{}}}},
			in: "a: x${gone}-${n}\nb: ${gone:-d}\nc: ${n:-${gone}}\n", want: "a: x${gone}-8080\nb: ${gone:-d}\nc: 8080\n",
			writes: []string{"/a substitute [k.yaml:1:0]", "/c substitute [k.yaml:1:0]"},
			issues: []string{"/a cluster the variable \"gone\" may be set in the cluster: its value is not known before merge",
				"/b cluster the variable \"gone\" may be set in the cluster: its value is not known before merge"},
		},
		"syntax error in a substitution": {d: Deployment{Substitute: Substitution{Variables: variables}}, in: "a: ${bad}\nb: ${\n",
			want: "a: ${bad}\nb: ${\n",
			issues: []string{"/a broken is not valid YAML once its variables are replaced: quote the value",
				"/b broken a ${} is not written as Flux reads it"}},
		"substitution disabled by annotation": {d: Deployment{Substitute: Substitution{Variables: variables}},
			in:   "metadata: {annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\na: ${n}\n",
			want: "metadata: {annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\na: ${n}\n"},
		"without variables": {in: "a: ${n:=1}\n", want: "a: ${n:=1}\n"},
		"strategy Always without variables": {d: Deployment{Substitute: Substitution{Always: true}}, in: "a: ${n:=1}\n", want: "a: 1\n",
			writes: []string{"/a substitute []"}},
		"metadata": {
			d: Deployment{Metadata: Metadata{Labels: map[string]Value{"a/b": {"1", at(7)}},
				Annotations: map[string]Value{"c": {"new", at(8)}}}},
			in: "metadata: {annotations: {c: old}}\n", want: "metadata: {labels: {a/b: '1'}, annotations: {c: new}}\n",
			writes: []string{"/metadata/labels/a~1b commonMetadata [k.yaml:7:0]",
				"/metadata/annotations/c commonMetadata [k.yaml:8:0]"},
		},
		"namespace": {d: Deployment{Namespace: "shop", NamespaceWhere: at(9)}, in: "apiVersion: v1\nkind: Pod\n",
			want:   "apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop}\n",
			writes: []string{"/metadata/namespace destination [k.yaml:9:0]"}},
		"resource with a namespace": {d: Deployment{Namespace: "shop"},
			in:   "apiVersion: v1\nkind: Pod\nmetadata: {namespace: own}\n",
			want: "apiVersion: v1\nkind: Pod\nmetadata: {namespace: own}\n"},
		"cluster-scoped resource": {d: Deployment{Namespace: "shop"},
			in:   "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n",
			want: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n"},
		"alias": {d: Deployment{Substitute: Substitution{Variables: variables}}, in: "a: &x ['$${n}']\nb: *x\n",
			want: "a: ['${n}']\nb: ['${n}']\n", writes: []string{"/a/0 substitute []"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var n yaml.Node
			if err := yaml.Unmarshal([]byte(test.in), &n); err != nil {
				t.Fatal(err)
			}
			lines := map[string]int{}
			for i := 0; i+1 < len(n.Content[0].Content); i += 2 {
				lines[n.Content[0].Content[i].Value] = n.Content[0].Content[i+1].Line
			}
			writes, issues := test.d.Finish(&n, FinishOptions{})
			got, _ := fieldOfNode("", &n).object()
			want := map[string]any{}
			if err := sigsyaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			var said, asked []string
			for _, w := range writes {
				said = append(said, fmt.Sprint(w.Pointer, " ", w.Role, " ", w.By))
			}
			for _, i := range issues {
				asked = append(asked, i.Pointer+" "+string(i.Cause)+" "+i.Message)
			}
			if diff := cmp.Diff(test.writes, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.issues, asked); diff != "" {
				t.Error(diff)
			}
			for i := 0; i+1 < len(n.Content[0].Content); i += 2 {
				if line, ok := lines[n.Content[0].Content[i].Value]; ok && n.Content[0].Content[i+1].Line != line {
					t.Errorf("%s moved from line %d to %d", n.Content[0].Content[i].Value, line, n.Content[0].Content[i+1].Line)
				}
			}
		})
	}
}
