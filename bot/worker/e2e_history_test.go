package worker_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exceptionWithHistory: for how long an exception lives is told from older contents of its file, which the mirror does
// not have until the check asks for them.
func exceptionWithHistory(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", "")
	data := t.TempDir()
	p := serve(t, binary, hostingOf(hub), data)

	exception := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: ops, labels: " +
		"{cleanup.kyverno.io/ttl: 9d}}\nspec:\n  exceptions: [{policyName: pods, ruleNames: [net]}]\n" +
		"  match: {any: [{resources: {kinds: [Pod], names: [one]}}]}\n"
	long := strings.Repeat("# what is small is there anyway\n", 4000)
	first := s.push("main", map[string]string{"e/a.yaml": long + exception, "notes.txt": long + "of no use", "policies/p.yaml": "" +
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: pods}\nspec:\n  rules:\n  - name: net\n" +
		"    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      failureAction: Enforce\n      message: No.\n" +
		"      pattern: {spec: {=(hostNetwork): false}}\n"})
	s.push("main", map[string]string{"e/a.yaml": "# once more\n" + long + exception, "notes.txt": "other"})
	head := s.push("change", map[string]string{"apps/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n" +
		"spec: {hostNetwork: true, containers: [{name: c, image: x}]}\n"})
	hub.SetHook(p.url + "/webhook") // nobody looks at the branch before
	s.open("change")
	if run := s.completed(head); run.Conclusion != "success" {
		t.Errorf("the exception does not count:\n%s", show(run))
	}
	mirrors, err := filepath.Glob(filepath.Join(data, "mirrors", "*", "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatalf("%q, %v", mirrors, err)
	}
	for path, want := range map[string]bool{"e/a.yaml": true, "notes.txt": false} {
		is := exec.Command("git", "--git-dir="+mirrors[0], "cat-file", "-e", first+":"+path).Run() == nil
		if is != want {
			t.Errorf("the mirror has the first %s: %v", path, is)
		}
	}
	clean(t, hub)
}
