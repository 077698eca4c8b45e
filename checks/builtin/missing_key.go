package builtin

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
)

// keeper identifies a ConfigMap or a Secret.
type keeper struct{ kind, namespace, name string }

// missingKeys finds required keys that a Pod references and that the ConfigMap or Secret in the same root lacks. It
// ignores objects that the root does not have, and those that a program fills. In 7 public repositories, a third of the
// ConfigMaps and Secrets that workloads need is declared nowhere, mostly because an operator, a Job or a person creates
// the object in the cluster.
func missingKeys(_ context.Context, a *Scope) (list []RootViolation, _ error) {
	kept := map[keeper]*render.Resource{}
	for _, r := range a.Resources {
		if id := admission.IdentityOf(r.Object); id.Group == "" && (id.Kind == "ConfigMap" || id.Kind == "Secret") {
			at := keeper{id.Kind, id.Namespace, id.Name}
			if _, twice := kept[at]; twice {
				r = nil
			}
			kept[at] = r
		}
	}
	others := sync.OnceValue(func() *writers { return writersOf(a.Resources) })
	for _, p := range podsOf(a.Resources) {
		for _, want := range keysOf(p.template) {
			at := keeper{want.kind, p.id.Namespace, want.name}
			r := kept[at]
			if r == nil || has(r, want.key) || strings.Contains(want.key+want.name, "$(") || filled(r) || others().of(at) {
				continue
			}
			list = append(list, RootViolation{p.of, Violation{p.pointer + want.pointer, fmt.Sprintf(
				"the %s %s of this root has no key %q, so the Pod does not start%s", want.kind, want.name, want.key,
				having(r))}})
		}
	}
	return list, nil
}

// wantedKey is a key without which a Pod does not start.
type wantedKey struct{ kind, name, key, pointer string }

// keysOf lists the keys that a Pod references by name.
func keysOf(template map[string]any) (list []wantedKey) {
	add := func(o map[string]any, kind, name, key, pointer string) {
		if name != "" && key != "" && o["optional"] != true {
			list = append(list, wantedKey{kind, name, key, pointer})
		}
	}
	for _, field := range []string{"initContainers", "containers"} {
		for i, c := range listAt(template, "/spec/"+field) {
			for j, env := range listAt(c, "/env") {
				for _, ref := range []struct{ field, kind string }{{"configMapKeyRef", "ConfigMap"}, {"secretKeyRef", "Secret"}} {
					o := mapAt(env, "/valueFrom/"+ref.field)
					add(o, ref.kind, textAt(o, "/name"), textAt(o, "/key"),
						jsonpointer.Join("spec", field, strconv.Itoa(i), "env", strconv.Itoa(j), "valueFrom", ref.field, "key"))
				}
			}
		}
	}
	items := func(o map[string]any, kind, name, pointer string) {
		for i, item := range listAt(o, "/items") {
			add(o, kind, name, textAt(item, "/key"), pointer+jsonpointer.Join("items", strconv.Itoa(i), "key"))
		}
	}
	for i, v := range listAt(template, "/spec/volumes") {
		at := jsonpointer.Join("spec", "volumes", strconv.Itoa(i))
		items(mapAt(v, "/configMap"), "ConfigMap", textAt(v, "/configMap/name"), at+"/configMap")
		items(mapAt(v, "/secret"), "Secret", textAt(v, "/secret/secretName"), at+"/secret")
		for j, s := range listAt(v, "/projected/sources") {
			from := at + jsonpointer.Join("projected", "sources", strconv.Itoa(j))
			items(mapAt(s, "/configMap"), "ConfigMap", textAt(s, "/configMap/name"), from+"/configMap")
			items(mapAt(s, "/secret"), "Secret", textAt(s, "/secret/name"), from+"/secret")
		}
	}
	return list
}

// keysIn are the fields of ConfigMaps and Secrets that contain keys.
var keysIn = []string{"data", "binaryData", "stringData"}

func has(r *render.Resource, key string) bool {
	return slices.ContainsFunc(keysIn, func(field string) bool {
		keys, _ := r.Object[field].(map[string]any)
		_, ok := keys[key]
		return ok
	})
}

// having lists the keys of an object, as an end of a message; "" if there are many.
func having(r *render.Resource) string {
	var keys []string
	for _, field := range keysIn {
		for key := range mapAt(r.Object, "/"+field) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) > 5 {
		return ""
	}
	return ": it has " + strings.Join(keys, ", ")
}

// filling matches annotations and labels which say that a program puts keys into an object.
var filling = regexp.MustCompile(`(?i)inject|replicat|reflect|generat|managed|owner|sync|rotat|service-ca|\bca-`)

// filled reports whether a program may put keys into an object: it has no keys, or its annotations, labels or type say
// so.
func filled(r *render.Resource) bool {
	if having(r) == ": it has " {
		return true
	}
	if kind := textAt(r.Object, "/type"); kind != "" && kind != "Opaque" && kind != "kubernetes.io/basic-auth" {
		return true
	}
	for _, field := range []string{"/metadata/annotations", "/metadata/labels"} {
		for key, value := range mapAt(r.Object, field) {
			if key != "app.kubernetes.io/managed-by" && filling.MatchString(key) || strings.Contains(fmt.Sprint(value), "${") {
				return true
			}
		}
	}
	for _, field := range keysIn {
		for key := range mapAt(r.Object, "/"+field) {
			if strings.Contains(key, "${") {
				return true
			}
		}
	}
	return false
}

// writers are the programs that may write ConfigMaps and Secrets besides their files.
type writers struct {
	words map[string]bool // strings in objects that may request the creation of an object with that name
	any   map[string]bool // kinds of which a role lets a program write any object
}

func writersOf(resources []*render.Resource) *writers {
	w := &writers{map[string]bool{}, map[string]bool{}}
	for _, r := range resources {
		id := admission.IdentityOf(r.Object)
		if !mayWrite(id) {
			continue
		}
		w.read(r.Object)
		for _, kind := range []string{"ConfigMap", "Secret"} {
			w.any[kind] = w.any[kind] || strings.HasSuffix(id.Kind, "Role") && lets(r, kind)
		}
	}
	return w
}

// keeping are the groups of idleKinds whose controllers write Secrets or ConfigMaps.
var keeping = []string{"cert-manager.io", "external-secrets.io", "bitnami.com", "secrets-store.csi.x-k8s.io", "kyverno.io",
	"policies.kyverno.io"}

// mayWrite reports whether an object may cause a ConfigMap or Secret to be written, as a role or an unknown custom
// resource may. Other kinds of Kubernetes do not, and often have the same name as the application's ConfigMap.
func mayWrite(id admission.Identity) bool {
	if _, workload := templates[[2]string{id.Group, id.Kind}]; workload {
		return false
	}
	if kinds.OfKubernetes(id.Group) {
		return strings.HasSuffix(id.Kind, "Role")
	}
	list := idleKinds[id.Group]
	return slices.Contains(keeping, id.Group) || !slices.Contains(list, "*") && !slices.Contains(list, id.Kind)
}

func (w *writers) of(k keeper) bool { return w.words[k.name] || w.any[k.kind] }

// read adds the strings in a value.
func (w *writers) read(v any) {
	switch v := v.(type) {
	case string:
		w.words[v] = true
	case map[string]any:
		for _, below := range v {
			w.read(below)
		}
	case []any:
		for _, below := range v {
			w.read(below)
		}
	}
}

// lets reports whether a role lets a program change any object of a kind.
func lets(r *render.Resource, kind string) bool {
	return slices.ContainsFunc(listAt(r.Object, "/rules"), func(rule map[string]any) bool {
		one := func(field string, words ...string) bool {
			return slices.ContainsFunc(anyList(rule[field]), func(v any) bool {
				return slices.Contains(words, fmt.Sprint(v))
			})
		}
		return len(anyList(rule["resourceNames"])) == 0 && one("resources", "*", strings.ToLower(kind)+"s") &&
			one("verbs", "*", "update", "patch")
	})
}
