package checks_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// narrow is an exception for one Pod and the rule "net".
func narrow(name, pod string) string {
	return exception(name, "{exceptions: [{policyName: pods, ruleNames: [net]}], match: {any: [{resources: "+
		"{kinds: [Pod], names: ["+pod+"]}}]}}")
}

// edit writes files, and removes those with empty content.
func edit(t *testing.T, r *treetest.Repo, files map[string]string) {
	t.Helper()
	for name, data := range files {
		if data == "" {
			r.Git("rm", "-q", "--ignore-unmatch", name)
		} else {
			r.Write(name, data)
		}
	}
}

// waiting lists the places of the exceptions that wait for approval. It requires that Inspect and Run agree on them.
func waiting(t *testing.T, r *treetest.Repo, change report.Change) (list []string, rep *report.Report) {
	t.Helper()
	rep = check(t, r, change)
	if diff := cmp.Diff(known(rep.Exceptions), known(inspect(t, r, change).Exceptions)); diff != "" {
		t.Errorf("(-run +inspect):\n%s", diff)
	}
	for _, e := range rep.Exceptions {
		if e.State == report.Pending {
			list = append(list, fmt.Sprintf("%s:%d %s", e.Path, e.Line, e.Name))
		}
	}
	if waits := len(list) > 0; waits != (rep.Conclusion == report.ActionRequired) {
		t.Errorf("%s with %q waiting, errors %s", rep.Conclusion, list, problems(rep.Errors))
	}
	if len(list) > 0 && !strings.Contains(rep.Title, "for approval") {
		t.Errorf("title %q", rep.Title)
	}
	return list, rep
}

// Each exception that a change brings into effect waits for approval, even if nothing needs it yet. An edit that leaves
// an exception the same or narrower needs no approval.
func TestExceptionsWait(t *testing.T) {
	kustomization := func(lines string) string {
		return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + lines
	}
	patched := kustomization("resources: [a.yaml]\npatches:\n- patch: '- {op: replace, path: " +
		"/spec/match/any/0/resources/names/0, value: NAME}'\n  target: {kind: PolicyException}\n")
	policyTest := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: []\nresources: []\n" +
		"results: []\nexceptions: [a.yaml]\n"
	two := narrow("a", "x") + "---\n" + narrow("b", "other")
	for _, c := range []struct {
		name       string
		base, head map[string]string
		waits      []string
	}{
		{"a new exception", nil, map[string]string{"e/a.yaml": narrow("a", "x")}, []string{"e/a.yaml:1 ops/a"}},
		{"an exception that names more", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": narrow("a", "x, z")}, []string{"e/a.yaml:1 ops/a"}},
		{"an exception for another resource", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": narrow("a", "z")}, []string{"e/a.yaml:1 ops/a"}},
		{"another name", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": narrow("other", "x")}, []string{"e/a.yaml:1 ops/other"}},
		{"one name removed", map[string]string{"e/a.yaml": narrow("a", "x, z")},
			map[string]string{"e/a.yaml": narrow("a", "z")}, nil},
		{"a comment added", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": "# why\n" + narrow("a", "x")}, nil},
		{"other formatting", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": strings.Replace(narrow("a", "x"), "names: [x]", "\"names\":   ['x']", 1)}, nil},
		{"another document of its file is edited", map[string]string{"e/a.yaml": two},
			map[string]string{"e/a.yaml": narrow("new", "z") + "---\n" + two}, []string{"e/a.yaml:1 ops/new"}},
		{"another document of its file is removed", map[string]string{"e/a.yaml": two}, map[string]string{"e/a.yaml": narrow("b", "other")}, nil},
		{"an exception is removed", map[string]string{"e/a.yaml": two}, map[string]string{"e/a.yaml": ""}, nil},
		{"a time to live is added", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": strings.Replace(narrow("a", "x"), "namespace: ops",
				"namespace: ops, labels: {cleanup.kyverno.io/ttl: '2030-01-01'}", 1)}, nil},
		{"a time to live is removed", map[string]string{"e/a.yaml": strings.Replace(narrow("a", "x"), "namespace: ops",
			"namespace: ops, labels: {cleanup.kyverno.io/ttl: '2030-01-01'}", 1)},
			map[string]string{"e/a.yaml": narrow("a", "x")}, []string{"e/a.yaml:1 ops/a"}},
		{"a new exception that has expired already", nil, map[string]string{"e/a.yaml": strings.Replace(narrow("a", "x"),
			"namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: '2020-01-01'}", 1)}, nil},
		{"a moved exception, since the new path may have another owner", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{"e/a.yaml": "", "mine/a.yaml": narrow("a", "x")}, []string{"mine/a.yaml:1 ops/a"}},
		{"an exception in a hidden folder", nil, map[string]string{".e/a.yaml": narrow("a", "x")}, nil},

		{"a new exception that its kustomization does not list", nil,
			map[string]string{"k/kustomization.yaml": kustomization(""), "k/a.yaml": narrow("a", "x")}, nil},
		{"a kustomization newly lists the exception",
			map[string]string{"k/kustomization.yaml": kustomization("resources: []\n"), "k/a.yaml": narrow("a", "x")},
			map[string]string{"k/kustomization.yaml": kustomization("resources: [a.yaml]\n")}, []string{"k/a.yaml:1 ops/a"}},
		{"the kustomization that did not list it is removed",
			map[string]string{"k/kustomization.yaml": kustomization("resources: []\n"), "k/a.yaml": narrow("a", "x")},
			map[string]string{"k/kustomization.yaml": ""}, []string{"k/a.yaml:1 ops/a"}},
		{"a new kustomization includes it unchanged", map[string]string{"k/a.yaml": narrow("a", "x")},
			map[string]string{"k/kustomization.yaml": kustomization("resources: [a.yaml]\n")}, nil},
		{"a patch broadens it",
			map[string]string{"k/kustomization.yaml": kustomization("resources: [a.yaml]\n"), "k/a.yaml": narrow("a", "x")},
			map[string]string{"k/kustomization.yaml": strings.Replace(patched, "NAME", "\"*\"", 1)},
			[]string{"k/a.yaml:1 ops/a"}},
		{"a new root puts it into another namespace", map[string]string{"k/a.yaml": narrow("a", "x")},
			map[string]string{"up/kustomization.yaml": kustomization("resources: [../k]\nnamespace: other\n"),
				"k/kustomization.yaml": kustomization("resources: [a.yaml]\n")}, []string{"k/a.yaml:1 other/a"}},
		{"two roots change it, and in one it has expired", nil, map[string]string{"k/kustomization.yaml": kustomization("resources: [a.yaml]\n"),
			"k/a.yaml": narrow("a", "x"), "up/b/kustomization.yaml": kustomization("resources: [../../k]\n"),
			"up/a/kustomization.yaml": kustomization("resources: [../../k]\npatches:\n- patch: '- {op: add, path: /metadata/labels, value: " +
				"{cleanup.kyverno.io/ttl: \"2020-01-01\"}}'\n  target: {kind: PolicyException}\n")}, []string{"k/a.yaml:1 ops/a"}},
		{"a patch overrides the edited field",
			map[string]string{"k/kustomization.yaml": strings.Replace(patched, "NAME", "z", 1), "k/a.yaml": narrow("a", "x")},
			map[string]string{"k/a.yaml": narrow("a", "q")}, nil},

		{"a new exception in an excluded folder", map[string]string{".lintel.yaml": "roots: {exclude: ['old/**']}\n"},
			map[string]string{"old/a.yaml": narrow("a", "x")}, nil},
		{"moved out of an excluded folder",
			map[string]string{".lintel.yaml": "roots: {exclude: ['old/**']}\n", "old/a.yaml": narrow("a", "x")},
			map[string]string{"old/a.yaml": "", "e/a.yaml": narrow("a", "x")}, []string{"e/a.yaml:1 ops/a"}},
		{"its folder is no longer excluded",
			map[string]string{".lintel.yaml": "roots: {exclude: ['old/**']}\n", "old/a.yaml": narrow("a", "x")},
			map[string]string{".lintel.yaml": "{}\n"}, []string{"old/a.yaml:1 ops/a"}},
		{"in an excluded folder that the settings name for exceptions",
			map[string]string{".lintel.yaml": "roots: {exclude: ['old/**']}\nexceptions: [old]\n"},
			map[string]string{"old/a.yaml": narrow("a", "x")}, []string{"old/a.yaml:1 ops/a"}},
		{"the settings newly name its folder",
			map[string]string{".lintel.yaml": "exceptions: [e]\n", "other/a.yaml": narrow("a", "x")},
			map[string]string{".lintel.yaml": "exceptions: [e, other]\n"}, []string{"other/a.yaml:1 ops/a"}},
		{"the settings no longer name its folder",
			map[string]string{".lintel.yaml": "exceptions: [e, other]\n", "other/a.yaml": narrow("a", "x")},
			map[string]string{".lintel.yaml": "exceptions: [e]\n"}, nil},
		{"new settings that name the same folder", map[string]string{"e/a.yaml": narrow("a", "x")},
			map[string]string{".lintel.yaml": "exceptions: [e]\n"}, nil},
		{"a new exception of a policy test", map[string]string{"t/kyverno-test.yaml": policyTest},
			map[string]string{"t/a.yaml": narrow("a", "x")}, nil},
		{"the policy test that used it is removed", map[string]string{"t/kyverno-test.yaml": policyTest, "t/a.yaml": narrow("a", "x")},
			map[string]string{"t/kyverno-test.yaml": ""}, []string{"t/a.yaml:1 ops/a"}},
		{"of a policy test in a folder that the settings name", map[string]string{".lintel.yaml": "exceptions: [t]\n",
			"t/kyverno-test.yaml": policyTest}, map[string]string{"t/a.yaml": narrow("a", "x")}, []string{"t/a.yaml:1 ops/a"}},
		{"outside of roots.include", map[string]string{".lintel.yaml": "roots: {include: ['apps/**']}\n"},
			map[string]string{"e/a.yaml": narrow("a", "x")}, []string{"e/a.yaml:1 ops/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			edit(t, r, c.base)
			base := r.Snapshot()
			edit(t, r, c.head)
			got, rep := waiting(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
			if !slices.Equal(got, c.waits) {
				t.Errorf("%q waits, want %q; %s, errors %s, warnings %s", got, c.waits, rep.Title, problems(rep.Errors),
					problems(rep.Warnings))
			}
		})
	}
}

// Which exceptions of the base count. A new Pod that the exception covers fails where the exception is in no cluster.
func TestExceptionsInForce(t *testing.T) {
	kustomization := func(lines string) string { return "kind: Kustomization\n" + lines }
	covering := narrow("a", "new")
	for _, c := range []struct {
		name   string
		base   map[string]string
		counts bool
	}{
		{"a plain folder", map[string]string{"e/a.yaml": covering}, true},
		{"among the policies", map[string]string{"policies/a.yaml": covering}, true},
		{"listed by its kustomization", map[string]string{"k/kustomization.yaml": kustomization("resources: [a.yaml]\n"),
			"k/a.yaml": covering}, true},
		{"not listed by its kustomization", map[string]string{"k/kustomization.yaml": kustomization("resources: []\n"),
			"k/a.yaml": covering}, false},
		{"not listed, but the settings name its file", map[string]string{".lintel.yaml": "exceptions: [k/a.yaml]\n",
			"k/kustomization.yaml": kustomization("resources: []\n"), "k/a.yaml": covering}, true},
		{"the settings name a folder with a kustomization", map[string]string{".lintel.yaml": "exceptions: [k]\n",
			"k/kustomization.yaml": kustomization("resources: [a.yaml]\n"), "k/a.yaml": covering}, true},
		{"in a base of a kustomization that the settings name", map[string]string{".lintel.yaml": "exceptions: [k]\n", "b/a.yaml": covering,
			"k/kustomization.yaml": kustomization("resources: [../b]\n"),
			"b/kustomization.yaml": kustomization("resources: [a.yaml]\n")}, true},
		{"a kustomization patches it to cover something else", map[string]string{"k/a.yaml": covering,
			"k/kustomization.yaml": kustomization("resources: [a.yaml]\npatches:\n- patch: '- {op: replace, path: " +
				"/spec/match/any/0/resources/names/0, value: old}'\n  target: {kind: PolicyException}\n")}, false},
		{"a kustomization patches it to cover the Pod", map[string]string{"k/a.yaml": narrow("a", "old"),
			"k/kustomization.yaml": kustomization("resources: [a.yaml]\npatches:\n- patch: '- {op: replace, path: " +
				"/spec/match/any/0/resources/names/0, value: new}'\n  target: {kind: PolicyException}\n")}, true},
		{"a kustomization deletes it", map[string]string{"k/a.yaml": covering,
			"k/kustomization.yaml": kustomization("resources: [a.yaml]\npatches:\n- patch: '{apiVersion: kyverno.io/v2, " +
				"kind: PolicyException, metadata: {name: a, namespace: ops}, $patch: delete}'\n")}, false},
		{"a kustomization that does not render", map[string]string{"k/a.yaml": covering,
			"k/kustomization.yaml": kustomization("resources: [a.yaml, gone.yaml]\n")}, false},
		{"an excluded folder", map[string]string{".lintel.yaml": "roots: {exclude: [old]}\n", "old/a.yaml": covering},
			false},
		{"an excluded kustomization", map[string]string{".lintel.yaml": "roots: {exclude: [old]}\n", "old/a.yaml": covering,
			"old/kustomization.yaml": kustomization("resources: [a.yaml]\n")}, false},
		{"an excluded folder that another root includes", map[string]string{
			".lintel.yaml": "roots: {exclude: [old]}\n",
			"old/a.yaml":   covering, "old/kustomization.yaml": kustomization("resources: [a.yaml]\n"),
			"k/kustomization.yaml": kustomization("resources: [../old]\n")}, true},
		{"an excluded folder of policies that the settings name", map[string]string{
			".lintel.yaml": "policies: [policies]\nroots: {exclude: ['policies/**']}\n", "policies/a.yaml": covering}, true},
		{"a resource of a policy test", map[string]string{"t/a.yaml": covering, "t/kyverno-test.yaml": "kind: Test\n" +
			"metadata: {name: t}\nresources: [a.yaml]\n"}, false},
		{"an exception of a policy test", map[string]string{"t/in/a.yaml": covering, "t/kyverno-test.yaml": "kind: Test\n" +
			"metadata: {name: t}\nexceptions: [in/a.yaml]\n"}, false},
		{"in another folder, used by a policy test", map[string]string{"e/a.yaml": covering, "t/kyverno-test.yaml": "kind: Test\n" +
			"metadata: {name: t}\nexceptions: [../e/a.yaml]\n"}, true},
		{"a template of a chart", map[string]string{"c/Chart.yaml": "name: c\nversion: 1.0.0\n",
			"c/templates/a.yaml": covering}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			edit(t, r, c.base)
			base := r.Snapshot()
			r.Write("apps/new.yaml", pod("new", hostNetwork))
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
			counts := !slices.ContainsFunc(rep.Findings, func(f report.Finding) bool { return f.Blocks })
			if counts != c.counts {
				t.Errorf("counts %v, want %v: %q, errors %s, warnings %s", counts, c.counts, lines(rep), problems(rep.Errors),
					problems(rep.Warnings))
			}
		})
	}
}

// A time to live counts from the commit in which the exception got its present content.
func TestTimeToLive(t *testing.T) {
	lives := func(ttl, names string) string {
		return strings.Replace(narrow("a", names), "namespace: ops", "namespace: ops, labels: {cleanup.kyverno.io/ttl: "+
			ttl+"}", 1)
	}
	day := func(n int) string { return now.AddDate(0, 0, n).Format("2006-01-02T15:04:05Z") }
	for _, c := range []struct {
		name  string
		steps []string // content of its file, one commit a day: the last is today's
		ends  int      // days until it expires; 0: it has expired
	}{
		{"added today", []string{lives("10d", "new")}, 10},
		{"comment added", []string{lives("10d", "new"), "# x\n" + lives("10d", "new")}, 9},
		{"another document added", []string{lives("10d", "new"), lives("10d", "new") + "---\n" + narrow("b", "b")}, 9},
		{"moved in its file", []string{lives("10d", "new"), narrow("b", "b") + "---\n" + lives("10d", "new")}, 9},
		{"touched after its end", []string{lives("2d", "new"), lives("2d", "new"), "# x\n" + lives("2d", "new")}, 0},
		{"reformatted each day", []string{lives("3d", "new"), " " + strings.ReplaceAll(lives("3d", "new"), "\n", "\n "),
			"\n" + lives("3d", "new")}, 1},
		{"annotation added", []string{lives("10d", "new"), strings.Replace(lives("10d", "new"), "name: a",
			"name: a, annotations: {why: x}", 1)}, 9},
		{"broadened", []string{lives("10d", "new"), lives("10d", "new, more")}, 10},
		{"narrowed", []string{lives("10d", "new, more"), lives("10d", "new")}, 9},
		{"shorter", []string{lives("10d", "new"), lives("9d", "new")}, 8},
		{"longer", []string{lives("10d", "new"), lives("20d", "new")}, 20},
		{"time to live added", []string{narrow("a", "new"), lives("10d", "new")}, 10},
		{"removed, and added again", []string{lives("10d", "new"), narrow("b", "b"), lives("10d", "new")}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			for i, text := range c.steps {
				r.Date = day(i - len(c.steps) + 1)
				r.Write("e/a.yaml", text)
				r.Snapshot()
			}
			base := r.Rev("HEAD")
			r.Write("apps/new.yaml", pod("new", hostNetwork))
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
			if want := now.AddDate(0, 0, c.ends); c.ends > 0 && !rep.Until.Equal(want) || c.ends == 0 && !rep.Until.IsZero() {
				t.Errorf("it ends %s, want %s", rep.Until, want)
			}
			if ended := rep.Conclusion == report.Failure; ended != (c.ends == 0) {
				t.Errorf("%s %q", rep.Conclusion, lines(rep))
			}
		})
	}
}

// Where a patch sets the time to live, it counts from the commit in which the patch got its present content, not from
// that of the patched file.
func TestTimeToLiveOfAPatch(t *testing.T) {
	day := func(n int) string { return now.AddDate(0, 0, n).Format("2006-01-02T15:04:05Z") }
	merge := func(ttl string) string {
		return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: ops, labels: " +
			"{cleanup.kyverno.io/ttl: " + ttl + "}}\n"
	}
	operation := func(ttl string) string {
		return "- {op: add, path: /metadata/labels, value: {}}\n- op: add\n  path: " +
			"/metadata/labels/cleanup.kyverno.io~1ttl\n  value: " + ttl + "\n"
	}
	for _, c := range []struct {
		name  string
		steps []string // content of the patch, one commit a day: the last is today's; "": no patch
		ends  int      // days until it expires
	}{
		{"patch as old as its file", []string{merge("10d"), merge("10d")}, 9},
		{"patch added today", []string{"", "", merge("10d")}, 10},
		{"patch added yesterday", []string{"", merge("10d"), "# x\n" + merge("10d")}, 9},
		{"a JSON patch operation", []string{"", "", operation("10d"), operation("10d")}, 9},
		{"longer", []string{merge("10d"), merge("20d")}, 20},
		{"shorter", []string{merge("10d"), merge("9d")}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			for i, patch := range c.steps {
				r.Date = day(i - len(c.steps) + 1)
				r.Write("e/a.yaml", narrow("a", "new"))
				r.Write("e/p.yaml", patch)
				r.Write("e/kustomization.yaml", "resources: [a.yaml]\n")
				if patch != "" {
					r.Write("e/kustomization.yaml", "resources: [a.yaml]\n"+
						"patches: [{path: p.yaml, target: {kind: PolicyException}}]\n")
				}
				r.Snapshot()
			}
			base := r.Rev("HEAD")
			r.Write("apps/new.yaml", pod("new", hostNetwork))
			rep := check(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()})
			if want := now.AddDate(0, 0, c.ends); !rep.Until.Equal(want) {
				t.Errorf("it ends %s, want %s: %s %q", rep.Until, want, rep.Conclusion, problems(rep.Warnings))
			}
		})
	}
}

// What the base branch changed after the head left it is not attributed to the change.
func TestExceptionsOfTheBaseAreNotProposed(t *testing.T) {
	for _, c := range []struct {
		name            string
		base, tip, head map[string]string
		waits           []string
	}{
		{name: "the base branch broadened it", base: map[string]string{"e/a.yaml": narrow("a", "x")},
			tip: map[string]string{"e/a.yaml": narrow("a", "x, z")}},
		{name: "the base branch removed it", base: map[string]string{"e/a.yaml": narrow("a", "x")},
			tip: map[string]string{"e/a.yaml": ""}},
		{name: "the base branch moved it", base: map[string]string{"e/a.yaml": narrow("a", "x")},
			tip: map[string]string{"e/a.yaml": "", "f/a.yaml": narrow("a", "x")}},
		{name: "the base branch excludes it", base: map[string]string{"e/a.yaml": narrow("a", "x")},
			tip: map[string]string{".lintel.yaml": "exceptions: [f]\n"}},
		{name: "the base branch added the same exception", tip: map[string]string{"e/a.yaml": narrow("a", "x")},
			head: map[string]string{"e/a.yaml": narrow("a", "x")}},
		{name: "the base branch added a broader one", tip: map[string]string{"e/a.yaml": narrow("a", "x, z")},
			head: map[string]string{"e/a.yaml": narrow("a", "x")}},
		{name: "the base branch added a narrower one", tip: map[string]string{"e/a.yaml": narrow("a", "x")},
			head: map[string]string{"e/a.yaml": narrow("a", "x, z")}, waits: []string{"e/a.yaml:1 ops/a"}},
		{name: "the base branch removed it, and the change edits it", base: map[string]string{"e/a.yaml": narrow("a", "x, z")},
			tip: map[string]string{"e/a.yaml": ""}, head: map[string]string{"e/a.yaml": narrow("a", "x")},
			waits: []string{"e/a.yaml:1 ops/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			edit(t, r, c.base)
			base := r.Snapshot()
			edit(t, r, c.tip)
			tip := r.Snapshot()
			r.Git("checkout", "-q", base)
			edit(t, r, c.head)
			r.Write("apps/x.txt", "x")
			if got, _ := waiting(t, r, report.Change{Base: base, Rules: tip, Head: r.Snapshot()}); !slices.Equal(got, c.waits) {
				t.Errorf("%q waits, want %q", got, c.waits)
			}
		})
	}
}

// An approval of an exception counts on where other files change neither what it comes to nor which clusters get it.
func TestTermsOfExceptionsStay(t *testing.T) {
	const list, overlay = "kind: Kustomization\nresources: [a.yaml]\n", "kind: Kustomization\nresources: [../../../exc]\n"
	for name, then := range map[string]map[string]string{
		"an annotation":                     {"exc/kustomization.yaml": list + "commonAnnotations: {a: b}\n"},
		"a further root of the cluster":     {"clusters/dev/y/kustomization.yaml": overlay},
		"another root of the cluster":       {"clusters/dev/x/kustomization.yaml": "", "clusters/dev/y/kustomization.yaml": overlay},
		"another exception":                 {"exc/b.yaml": narrow("b", "x"), "exc/kustomization.yaml": "kind: Kustomization\nresources: [a.yaml, b.yaml]\n"},
		"an object of a cluster without it": {"clusters/prod/pod.yaml": pod("z", hostNetwork)},
	} {
		r := treetest.New(t)
		base := r.Commit(pods)
		edit(t, r, map[string]string{"exc/kustomization.yaml": list, "exc/a.yaml": narrow("a", "nobody"), "clusters/dev/x/kustomization.yaml": overlay})
		first := inspect(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()}).Exceptions
		edit(t, r, then)
		now := inspect(t, r, report.Change{Base: base, Rules: base, Head: r.Snapshot()}).Exceptions
		if len(first) != 1 || len(now) == 0 || !slices.Equal(now[0].Terms, first[0].Terms) {
			t.Errorf("%s: %+v, first %+v", name, now, first)
		}
	}
}

// An approval of an exception is for what it comes to. Without that, one that was given for a harmless state would count once
// another file makes the exception broader, or brings it into force: the terms that the second push has are others.
func TestTermsOfExceptionsFollowAllFilesThatDecide(t *testing.T) {
	kustomization := func(lines string) string {
		return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + lines
	}
	const flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: exc, namespace: flux-system}\nspec:\n" +
		"  interval: 1m\n  path: ./exc\n  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
	const all = "patches: [{target: {kind: PolicyException}, patch: '- {op: replace, path: /spec/match/any/0/resources/names, value: [\"*\"]}'}]\n"
	const spec = "{project: p, source: {repoURL: 'https://x/y.git', path: exc, targetRevision: HEAD}, destination: {name: NAME, namespace: ops}}\n"
	app := func(name string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: exc, namespace: argocd}\nspec: " + strings.Replace(spec, "NAME", name, 1)
	}
	set := func(generator string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: exc, namespace: argocd}\nspec:\n  generators: [{" + generator +
			"}]\n  template:\n    metadata: {name: 'exc-{{name}}'}\n    spec: " + strings.Replace(spec, "NAME", "'{{name}}'", 1)
	}
	variable := narrow("a", "\"${n:=nobody}\"")
	exc := map[string]string{"exc/kustomization.yaml": kustomization("resources: [a.yaml]\n"), "exc/a.yaml": narrow("a", "nobody")}
	with := func(files map[string]string, more ...string) map[string]string {
		out := maps.Clone(files)
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name              string
		base, first, then map[string]string // then is pushed after the approval
	}{
		{"a patch of the object that deploys a new exception", nil, with(exc, "fx/k.yaml", flux), map[string]string{"fx/k.yaml": flux + "  " + all}},
		{"a patch of the object that deploys a merged exception", with(exc, "fx/k.yaml", flux), nil, map[string]string{"fx/k.yaml": flux + "  " + all}},
		{"a variable", nil, with(exc, "exc/a.yaml", variable, "fx/k.yaml", flux+"  postBuild: {substitute: {n: nobody}}\n"),
			map[string]string{"fx/k.yaml": flux + "  postBuild: {substitute: {n: x}}\n"}},
		{"a ConfigMap of variables", with(exc, "exc/a.yaml", variable, "fx/k.yaml", flux+"  postBuild: {substituteFrom: [{kind: ConfigMap, name: v}]}\n",
			"fx/v.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: v, namespace: flux-system}, data: {n: nobody}}"), nil,
			map[string]string{"fx/v.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: v, namespace: flux-system}, data: {n: x}}"}},
		{"an overlay of the object", nil, with(exc, "fx/kustomization.yaml", kustomization("resources: [k.yaml]\npatches: [{path: p.yaml}]\n"), "fx/k.yaml", flux,
			"fx/p.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: exc, namespace: flux-system}\nspec:\n  wait: true\n"),
			map[string]string{"fx/p.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: exc, namespace: flux-system}\nspec:\n  " + all}},
		{"a patch of the base that the change had taken away", with(exc, "exc/a.yaml", "", "exc/kustomization.yaml", kustomization("resources: []\n"),
			"fx/k.yaml", flux+"  "+all), with(exc, "fx/k.yaml", flux), map[string]string{"fx/k.yaml": flux + "  " + all}},
		{"the destination of an Application", nil, with(exc, "argo/a.yaml", app("dev")), map[string]string{"argo/a.yaml": app("prod")}},
		{"the selector of an ApplicationSet", nil, with(exc, "argo/a.yaml", set("clusters: {selector: {matchLabels: {env: dev}}}")),
			map[string]string{"argo/a.yaml": set("clusters: {selector: {matchLabels: {env: prod}}}")}},
		{"the list of an ApplicationSet", nil, with(exc, "argo/a.yaml", set("list: {elements: [{name: dev}]}")),
			map[string]string{"argo/a.yaml": set("list: {elements: [{name: dev}, {name: prod}]}")}},
		{"overlays of two clusters swap", map[string]string{"exc/kustomization.yaml": kustomization("resources: [a.yaml]\n"), "exc/a.yaml": narrow("a", "nobody")},
			map[string]string{"clusters/dev/exc/kustomization.yaml": kustomization("resources: [../../../exc]\n" + all),
				"clusters/prod/exc/kustomization.yaml": kustomization("resources: [../../../exc]\n")},
			map[string]string{"clusters/dev/exc/kustomization.yaml": kustomization("resources: [../../../exc]\n"),
				"clusters/prod/exc/kustomization.yaml": kustomization("resources: [../../../exc]\n" + all)}},
		{"the settings", map[string]string{".lintel.yaml": "exceptions: [e/]\n", "d/a.yaml": narrow("a", "x")}, nil,
			map[string]string{".lintel.yaml": "exceptions: [e/, d/]\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(pods)
			edit(t, r, c.base)
			base := r.Snapshot()
			edit(t, r, c.first)
			first := r.Snapshot()
			edit(t, r, c.then)
			terms := map[string]string{} // of the exception, by commit; none where nothing waits
			for _, head := range []string{first, r.Snapshot()} {
				change := report.Change{Base: base, Rules: base, Head: head}
				rep := check(t, r, change)
				for _, e := range rep.Exceptions {
					terms[head] += strings.Join(e.Terms, " ")
				}
				asked := ""
				for _, e := range inspect(t, r, change).Exceptions {
					asked += strings.Join(e.Terms, " ")
				}
				if asked != terms[head] {
					t.Errorf("whom to ask is asked about %s, the check is about %s", asked, terms[head])
				}
				if head != first && (len(rep.Exceptions) != 1 || rep.Exceptions[0].State != report.Pending || asked == "" || asked == terms[first]) {
					t.Errorf("exceptions %+v: %s, first %s, errors %s, warnings %s", rep.Exceptions, rep.Title, terms[first], problems(rep.Errors), problems(rep.Warnings))
				}
			}
		})
	}
}
