package helm

import (
	"slices"
	"testing"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// Helm reads the same kind from a head as from the whole document.
func TestHeadIsSortedAsTheDocument(t *testing.T) {
	for document, short := range map[string]bool{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n":                              true,
		"# a comment\nkind: Secret\n\ndata:\n- kind: Pod\n- a\nmetadata:\n  name: a\n  labels:\n    kind: x": true,
		"kind: Service\nspec: {\nkind: Pod\n}\n":                                                             false,
		"kind: Service\nspec: \"\nkind: Pod\"\n":                                                             true,
		"spec:\n- a\nkind: Pod\nkind: Job\n":                                                                 true,
		"kind: Job\nmetadata:\n  annotations:\n    helm.sh/hook: test\nspec: a\n":                            false,
		"kind: Job\nmetadata:\n  annotations:\n    \"helm.sh\\x2fhook\": test\nspec: a\n":                    true,
		"kind: *a\nspec: &a Pod\n":                                                                           false,
		"\"kind\": Pod\nspec: a\n":                                                                           false,
		"? kind\n: Pod\n":                                                                                    false,
		"{kind: Pod}":                                                                                        false,
		"kind: >\n  Pod\nspec: a\n":                                                                          true,
		"kind:\n  Pod\nspec:\n  a: |\n    kind: Job\n":                                                       true,
		"text":                     false,
		"# nothing":                true,
		"kind:\tPod\nspec: a\n":    false,
		"kind: Pod\r\nspec: a\r\n": false,
	} {
		if got := head(document); (got != document) != short {
			t.Errorf("%q: the head is %q", document, got)
		}
		kinds := func(text string) (list []string, failed bool) {
			hooks, manifests, err := releaseutil.SortManifests(map[string]string{"a": "# 0\n" + text}, nil, releaseutil.InstallOrder)
			for _, m := range manifests {
				list = append(list, m.Head.Kind)
			}
			for _, h := range hooks {
				list = append(list, h.Kind, "hook")
			}
			return list, err != nil
		}
		whole, broken := kinds(document)
		const oddly = "kind: Service\nspec: \"\nkind: Pod\"\n" // only the order differs from Helm's
		if got, failed := kinds(head(document)); document != oddly && !slices.Equal(got, whole) || failed != broken {
			t.Errorf("%q: the head is %v %v, the document %v %v", document, got, failed, whole, broken)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add("kind: Pod\nmetadata:\n  annotations: {a: b}\nspec:\n- a: \"b\n")
	f.Fuzz(func(t *testing.T, document string) {
		_, whole, err := releaseutil.SortManifests(map[string]string{"a": "# 0\n" + document}, nil, releaseutil.InstallOrder)
		if err != nil || len(whole) != 1 {
			return // another check reports the document
		}
		hooks, _, err := releaseutil.SortManifests(map[string]string{"a": "# 0\n" + head(document)}, nil, releaseutil.InstallOrder)
		if err == nil && len(hooks) > 0 {
			t.Errorf("%q is no hook, and its head %q is", document, head(document))
		}
	})
}
