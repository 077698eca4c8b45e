package apiserver

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
)

// Each file of testdata is an object, or an old one followed by a new one. Its name says what the API server rejects
// ("refused /spec/ports"), which change it rejects ("fixed /spec/selector") or what it warns about ("warned /spec");
// several are separated by commas, and "taken" is for none. The object's topic follows after a colon.
func TestLook(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/objects.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		want, _, _ := strings.Cut(file.Name, ":")
		t.Run(file.Name, func(t *testing.T) {
			var objects []map[string]any
			for _, text := range strings.Split(string(file.Data), "---\n") {
				objects = append(objects, object(t, text))
			}
			now, old := objects[len(objects)-1], map[string]any(nil)
			if len(objects) > 1 {
				old = objects[0]
			}
			said := Look(t.Context(), now, old, 0, strings.Contains(file.Name, "on the server's side"), nil)
			var got []string
			for _, of := range []struct {
				word string
				list []schema.Violation
			}{{"refused", said.Refused}, {"fixed", said.Fixed}, {"warned", said.Warned}} {
				for _, v := range of.list {
					got = append(got, of.word+" "+v.Pointer)
					if v.Message == "" || len(v.Message) > 600 || strings.Contains(v.Message, "\n") {
						t.Errorf("%s: the message is %q", v.Pointer, v.Message)
					}
				}
			}
			if said.Unread {
				got = append(got, "unread")
			}
			if len(got) == 0 {
				got = []string{"taken"}
			}
			slices.Sort(got)
			if list := strings.Join(got, ", "); list != want {
				t.Errorf("got %q, want %q: %+v", list, want, said)
			}
		})
	}
}

// A violation that only a later version than the cluster's rejects is a warning. Validation for the cluster's version
// does not block other validations forever.
func TestLookByVersion(t *testing.T) {
	o := object(t, "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n"+
		"spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}\n")
	for _, c := range []struct{ minor, refused, warned int }{{0, 1, 0}, {37, 1, 0}, {36, 1, 0},
		{35, 0, 1}, {34, 0, 1}, {33, 0, 1}, {32, 0, 1}, {31, 0, 1}, {30, 1, 0}, {0, 1, 0}} {
		said := Look(t.Context(), o, nil, c.minor, false, nil)
		if len(said.Refused) != c.refused || len(said.Warned) != c.warned {
			t.Errorf("1.%d: %+v", c.minor, said)
		}
	}
}

// An object that only the cluster's version rejects, and later ones accept, is rejected.
func TestLookByOlderVersion(t *testing.T) {
	o := object(t, "apiVersion: v1\nkind: Service\nmetadata: {name: 1web}\nspec: {ports: [{port: 80}]}\n")
	for minor, refused := range map[int]int{0: 0, 31: 1, 35: 1, 36: 0, linked: 0} {
		said := Look(t.Context(), o, nil, minor, false, nil)
		if len(said.Refused) != refused || refused > 0 && !strings.HasSuffix(said.Refused[0].Message, fmt.Sprintf("in Kubernetes 1.%d", minor)) {
			t.Errorf("1.%d: %+v", minor, said)
		}
	}
}

// Objects can be validated concurrently, including the first ones.
func TestConcurrentLook(t *testing.T) {
	for _, text := range []string{deployed, "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1}]}\n"} {
		o := object(t, text)
		for range 4 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				if said := Look(t.Context(), o, o, 0, false, nil); len(said.Refused)+len(said.Fixed) > 0 {
					t.Errorf("%+v", said)
				}
			})
		}
	}
}

// Messages about a Secret do not contain its values.
func TestMessagesContainNoValuesOfSecrets(t *testing.T) {
	o := object(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/dockerconfigjson\n"+
		"stringData: {.dockerconfigjson: hunter2-is-no-json}\n")
	said := Look(t.Context(), o, nil, 0, false, nil)
	if len(said.Refused) != 1 || strings.Contains(said.Refused[0].Message, "hunter2") {
		t.Errorf("%+v", said)
	}
}

func object(t testing.TB, text string) (o map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

const deployed = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{name: http, containerPort: 80}]
        resources: {limits: {cpu: 1, memory: 1Gi}}
        livenessProbe: {httpGet: {path: /, port: http}}
`

func BenchmarkLook(b *testing.B) {
	o := object(b, deployed)
	for b.Loop() {
		Look(b.Context(), o, nil, 0, false, nil)
	}
}

// FuzzLook validates objects of any form: nothing panics, and each answer is about the object.
func FuzzLook(f *testing.F) {
	data, err := os.ReadFile("testdata/objects.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range txtar.Parse(data).Files {
		f.Add(string(file.Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o map[string]any
		if yaml.Unmarshal([]byte(text), &o) != nil || len(text) > 4096 {
			t.Skip("no object, or a large one")
		}
		said := Look(t.Context(), o, o, 0, false, nil)
		for _, v := range slices.Concat(said.Refused, said.Fixed, said.Warned) {
			if v.Pointer != "" && v.Pointer[0] != '/' {
				t.Errorf("no pointer: %q", v.Pointer)
			}
		}
	})
}
