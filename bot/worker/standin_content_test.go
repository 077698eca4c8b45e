package worker_test

import (
	"net/http"
	"strings"
)

// standinContents are what a pull request can bring along that no line of a file of its head may be named for, or
// only with care. Null deletes a file.
var standinContents = map[string]fields{
	"a policy deleted":        {"policies/disallow-latest-tag.yaml": nil, patchPath: strings.Repeat("x: [", 3)},
	"a file deleted in use":   {"apps/shop/base/service.yaml": nil},
	"a kustomization deleted": {"apps/shop/base/kustomization.yaml": nil},
	"an app deleted": {"apps/payments/base/deployment.yaml": nil, "apps/payments/base/kustomization.yaml": nil,
		"apps/payments/base/service.yaml": nil, "apps/payments/base/settlement.yaml": nil},
	"a namespace deleted": {"platform/namespaces.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " +
		"payments\n"},
	"the last file of a folder": {"platform/namespaces.yaml": nil, "platform/network-policies.yaml": nil,
		"platform/node-agent.yaml": nil},
	"an exception deleted": {"exceptions/node-agent.yaml": nil, "platform/node-agent.yaml": "# no more\n"},
	"the settings deleted": {".lintel.yaml": nil, "CODEOWNERS": nil},
	"ends in the middle":   {"platform/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: [a"},
	"no line break at the end": {"platform/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: " +
		"shop}\nspec: {containers: [{name: a, image: 'a:latest'}]}"},
	"one line": {"platform/a.yaml": `{"apiversion: v1, kind: Pod`},
	"empty": {"platform/a.yaml": "", "platform/b.yaml": "\n\n\n", "platform/c.yaml": "---\n---\n",
		"platform/d.yaml": "# nothing"},
	"blank lines at the end": {"platform/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  " +
		"containers:\n\n\n\n\n"},
	"windows": {"platform/a.yaml": "apiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: " +
		"a\r\nspec:\r\n  containers:\r\n    - name: a\r\n      image: a:latest\r\n"},
	"byte order mark": {"platform/a.yaml": "\uFEFFapiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec: " +
		"{containers: [{name: a, image: 'a:latest'}]}\n"},
	"utf-16": {"platform/a.yaml": fields{
		"base64": "//5hAHAAaQBWAGUAcgBzAGkAbwBuADoAIAB2ADEACgBrAGkAbgBkADoAIABQAG8AZAAKAA=="}},
	"binary": {"platform/a.yaml": fields{"base64": "AAECAwQFBgcICQoLDA0ODw=="}},
	"not utf-8": {"platform/a.yaml": fields{
		"base64": "YXBpVmVyc2lvbjogdjEKa2luZDogUG9kCm1ldGFkYXRhOgogIG5hbWU6ICL//v8iCg=="}},
	"odd names": {"platform/ä ö/ü.yaml": badPod, "platform/ lead.yaml": badPod,
		"platform/[x]*?.yaml": badPod, "platform/quo\"te.yaml": badPod, "platform/tab\tname.yaml": badPod,
		"platform/-dash.yaml": badPod},
	"a symbolic link": {"platform/link.yaml": fields{"symlink": "../apps/shop/base/service.yaml"},
		"platform/away.yaml": fields{"symlink": "../../../../etc/passwd"}},
	"a file becomes a link": {"apps/shop/base/service.yaml": fields{"symlink": "deployment.yaml"}},
	"a linked folder":       {"apps/linked": fields{"symlink": "shop/overlays/production"}, patchPath: nil},
	"a submodule": {"apps/other": fields{"gitlink": "0123456789abcdef0123456789abcdef01234567"},
		"apps/new/kustomization.yaml": "resources: [../other]\n"},
	"an executable":           {"platform/a.yaml": fields{"text": badPod, "mode": "100755"}},
	"a file becomes a folder": {"apps/shop/base/service.yaml": nil, "apps/shop/base/service.yaml/x.yaml": badPod},
	"moved": {"platform/node-agent.yaml": nil,
		"platform/agents/node.yaml": "%platform/node-agent.yaml"},
	"a long line": {"platform/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: " +
		strings.Repeat("é", 200_000) + "\n"},
	"a long message": {"policies/long.yaml": strings.Replace(neverPolicy, "message: never",
		"message: "+strings.Repeat("é", 70_000), 1)},
	"long lists": {"platform/a.yaml": badPod +
		strings.Repeat("    - name: b\n      image: b:latest\n", 300)},
	"a chart": {"charts/a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
		"charts/a/templates/a.yaml": "{{ if }}\n"},
	"a policy test that fails": {"policies/tests/kyverno-test.yaml": "apiVersion: cli.kyverno.io/v1alpha1\nkind: " +
		"Test\nmetadata:\n  name: t\npolicies: [../disallow-latest-tag.yaml]\nresources: [r.yaml]\nresults:\n  - policy: " +
		"disallow-latest-tag\n    rule: tag-is-not-latest\n    resources: [a]\n    kind: Pod\n    result: pass\n",
		"policies/tests/r.yaml": badPod},
	"settings that are wrong": {".lintel.yaml": "policies: [nowhere/]\nunknown: 1\n"},
	"a policy that is wrong":  {"policies/x.yaml": badPolicy},
	"an exception that ended": {"exceptions/x.yaml": standinException + "  # ended\n",
		"exceptions/y.yaml": strings.Replace(standinException, "  name: shop\n",
			"  name: y\n  labels:\n    cleanup.kyverno.io/ttl: \"2020-01-01\"\n", 1)},
	"everything at once": {"apps/shop/base/kustomization.yaml": nil, "platform/namespaces.yaml": nil,
		"policies/x.yaml": badPolicy, "platform/a.yaml": "a: [", "exceptions/x.yaml": "kind: PolicyException\n"},
}

const badPod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: shop\nspec:\n  containers:\n    - " +
	"name: a\n      image: a:latest\n"

// Whatever is in a change, the check run is completed, and each annotation is on a line that its head has.
func contents(s *standin) {
	pulls := map[int]string{}
	for name, files := range standinContents {
		content := fields{}
		for path, text := range files {
			if from, ok := text.(string); ok && strings.HasPrefix(from, "%") {
				text = read(s.t, sampleRepo, from[1:])
			}
			content[path] = text
		}
		branch := strings.ReplaceAll(name, " ", "-")
		s.control(http.MethodPost, "/repos/"+s.repo+"/commits",
			fields{"branch": branch, "base": "main", "user": "alice", "message": name, "files": content}, nil)
		pulls[s.pull(branch, fields{"title": name})] = name
	}
	want := map[int]string{}
	for number := range pulls {
		want[number] = "" // any
	}
	s.ends(1, want)
	s.t.Logf("%v", pulls)
}
