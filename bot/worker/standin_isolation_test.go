package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	theirSecret  = "secret-of-org-0"
	hostileWords = "made-by-mallory"
)

// hostileChanges are pull requests of somebody who wants to see what another installation has, or to stop its checks, by
// name. never are those that must not pass.
func (c *crowd) hostileChanges(roots int) (all map[string]fields, never []string) {
	theirs := "org-0/repo-0"
	config := func(rest string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, labels: {owner: " + hostileWords + "}}\n" + rest
	}
	kustomization := func(resources ...string) string {
		list, _ := json.Marshal(resources) // strings always marshal
		return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: " + string(list) + "\n"
	}
	bomb := "data:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i <= 7; i++ { // 10^8 entries
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	chart := func(template string) fields {
		return fields{"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "charts/c/templates/t.yaml": template,
			"apps/app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: c, namespace: argocd}\nspec:\n" +
				"  project: default\n  destination: {namespace: c, server: https://kubernetes.default.svc}\n" +
				"  source: {repoURL: " + c.base + "/org-1/repo-0.git, path: charts/c, targetRevision: HEAD}\n"}
	}
	outside := []string{"../../../../../../../../../.." + c.data, "../../../mirrors", c.data + "/mirrors",
		fmt.Sprintf("%s/cache/%d.1", c.data, c.ids[0])}
	for up := range 8 {
		outside = append(outside, fmt.Sprintf("%s%d", strings.Repeat("../", up+2), c.ids[0]))
	}
	many := fields{}
	for i := range roots {
		many[fmt.Sprintf("many/%d/kustomization.yaml", i)] = kustomization("config.yaml")
		many[fmt.Sprintf("many/%d/config.yaml", i)] = config(fmt.Sprintf("data: {n: \"%d\"}\n", i))
	}
	pattern := strings.Repeat("(", 4) + "a+" + strings.Repeat("{1,999})", 4) + "+$"
	all = map[string]fields{
		"plain":     {"app/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + hostileWords + "}\n"},
		"aliases":   {"app/config.yaml": config(bomb)},
		"loop":      chart("{{ range untilStep 0 2000000000 1 }}{{ range untilStep 0 2000000000 1 }}{{ end }}{{ end }}\n"),
		"recursion": chart(`{{ define "a" }}{{ include "a" . }}{{ include "a" . }}{{ end }}{{ include "a" . }}` + "\n"),
		"outside":   {"app/kustomization.yaml": kustomization(outside...)},
		"files": {"app/kustomization.yaml": kustomization("file://"+c.data+"/mirrors", "git::file://"+c.data+"//mirrors",
			"file:///etc/passwd")},
		"theirs": {"app/kustomization.yaml": kustomization(c.base + "/" + theirs + ".git//app?ref=main"),
			"web/kustomization.yaml":  kustomization(c.base + "/" + theirs + "//app"),
			"user/kustomization.yaml": kustomization(strings.Replace(c.base, "//", "//x-access-token@", 1) + "/" + theirs + ".git//app")},
		"links": {"app/config.yaml": fields{"symlink": c.data + "/cache"}, "app/passwd.yaml": fields{"symlink": "/etc/passwd"},
			"up": fields{"symlink": "../../../.."}, "app/kustomization.yaml": kustomization("config.yaml", "passwd.yaml", "../up")},
		"pattern": {"policies/owned.yaml": strings.ReplaceAll(crowdPolicy, `owner: "?*"`, "owner: '"+strings.Repeat("*a", 400)+"*b'"),
			"policies/cel.yaml": "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: slow}\nspec:\n" +
				"  validationActions: [Deny]\n" +
				"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]}\n" +
				"  validations: [{expression: \"object.data.text.matches('" + pattern + "')\"}]\n",
			"app/config.yaml": config("data: {text: " + strings.Repeat("a", 60_000) + "}\n")},
		"roots": many,
	}
	return all, []string{"aliases", "loop", "recursion", "outside", "files", "theirs", "links", "plain"}
}

// gitDirs are the git folders below a folder.
func gitDirs(t *testing.T, folder string) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() && d.Name() == "objects" {
			dirs = append(dirs, filepath.Dir(path))
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// holding are the git folders that have an object.
func holding(ctx context.Context, dirs []string, object string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return exec.CommandContext(ctx, "git", "--git-dir", dir, "cat-file", "-e", object).Run() != nil
	})
}

// TestStandinIsolation has two installations on one server, and somebody in one of them who does the other harm as well
// as pull requests can: its checks stay right and soon, and nothing of what it has gets across. With -soak there are 50
// repositories and 10,000 roots.
func TestStandinIsolation(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	repositories, roots, rounds := 3, 200, 2
	if *soak {
		repositories, roots, rounds = 25, 10_000, 4
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := newCrowd(ctx, t, 2, repositories, "LINTEL_WORKERS=3", "LINTEL_CHECK_TIMEOUT=10s", "LINTEL_CHECK_MEMORY=1024",
		"LINTEL_PUBLIC_URL=http://127.0.0.1:9")
	good, bad := c.repos[:repositories], c.repos[repositories:]
	commit := func(repo, user string, more fields) (sha string) {
		t.Helper()
		var out struct{ SHA string }
		body := fields{"user": user, "message": "Change", "base": "main"}
		for k, v := range more {
			body[k] = v
		}
		c.control(http.MethodPost, "/repos/"+repo+"/commits", body, &out)
		return out.SHA
	}
	c.control(http.MethodPut, "/orgs/org-1", fields{"members": []string{"mallory"}, "owners": []string{"mallory"}}, nil)
	// What findings show: names.
	ownConfig := func(owner, text string) string {
		return strings.Replace(crowdConfig(owner, text), "name: config", "name: "+theirSecret, 1)
	}
	secret := ownConfig("me", theirSecret)
	commit(good[0], "alice", fields{"branch": "main", "files": fields{"app/config.yaml": secret}})
	for _, repo := range bad { // whose pages everybody may see
		c.control(http.MethodPatch, "/repos/"+repo, fields{"private": false}, nil)
	}
	changes, never := c.hostileChanges(roots)
	// What is asked for is named by the base branch as well.
	commit(bad[1], "mallory", fields{"branch": "main", "files": changes["theirs"]})
	c.control(http.MethodGet, "/wait?idle=1&timeout=120", nil, nil)
	done := func(repo, head string) standinRun {
		t.Helper()
		if err := c.try(http.MethodGet, c.base+"/_control/wait?repo="+repo+"&sha="+head+"&timeout=300", nil, nil); err != nil {
			t.Fatalf("%s: %v", repo, err)
		}
		return c.completed(repo, head, 1)
	}
	// What the other installation does, and how long its checks take.
	check := func(n int) (took []time.Duration) {
		t.Helper()
		for _, repo := range good {
			owner, want := "me", "success"
			if n%2 == 1 {
				owner, want = "", "failure"
			}
			head := commit(repo, "alice", fields{"branch": "change", "files": fields{
				"app/config.yaml": ownConfig(owner, fmt.Sprint(n))}})
			begun := time.Now()
			if n == 0 {
				c.pull(repo, "change")
			}
			if run := done(repo, head); run.Conclusion != want {
				t.Errorf("%s: %s, want %s: %s", repo, run.Conclusion, want, run.Output)
			}
			took = append(took, time.Since(begun))
		}
		return took
	}
	t.Logf("alone: %s", spread(check(0)))

	type attack struct{ name, repo, head string }
	var attacks []attack
	for i, repo := range bad {
		if i == 1 || i > repositories/3 {
			continue
		}
		for name, files := range changes {
			if i > 0 && name == "roots" {
				continue
			}
			branch := "attack-" + name
			attacks = append(attacks, attack{name, repo, commit(repo, "mallory", fields{"branch": branch, "files": files})})
			c.control(http.MethodPost, "/repos/"+repo+"/pulls", fields{"head": branch, "title": branch, "user": "mallory"}, nil)
		}
	}
	var took []time.Duration
	for n := 1; n <= rounds; n++ {
		took = append(took, check(n)...)
	}
	t.Logf("beside the hostile one: %s", spread(took))
	if longest := slices.Max(took); longest > 30*time.Second {
		t.Errorf("a check waited for the other installation: %s", longest)
	}
	for _, a := range attacks {
		run := done(a.repo, a.head)
		if run.Conclusion == "" || run.Conclusion == "success" && slices.Contains(never, a.name) {
			t.Errorf("%s: %s %s", a.name, run.Conclusion, run.Output)
		}
	}
	c.control(http.MethodGet, "/wait?idle=1&timeout=120", nil, nil)
	c.nothingAcross(secret, good, bad)
	c.unlimited()
	var deliveries []struct {
		Event      string
		StatusCode int `json:"status_code"`
	}
	c.control(http.MethodGet, "/deliveries", nil, &deliveries)
	for _, d := range deliveries {
		if d.StatusCode/100 != 2 {
			t.Errorf("a delivery of %s was answered %d", d.Event, d.StatusCode)
		}
	}
	var violations []fields
	c.control(http.MethodGet, "/violations?severity=error", nil, &violations)
	violations = slices.DeleteFunc(violations, func(v fields) bool { return v["path"] == "/org-0/repo-0//app" }) // was asked for
	if len(violations) > 0 || len(deliveries) == 0 {
		t.Errorf("%d deliveries, violations: %v", len(deliveries), violations)
	}
}

// nothingAcross requires that neither side has, shows or says anything of the other.
func (c *crowd) nothingAcross(secret string, good, bad []string) {
	t := c.t
	t.Helper()
	texts := map[string]string{}
	for side, repos := range map[string][]string{theirSecret: good, hostileWords: bad} {
		for _, repo := range repos {
			var runs []json.RawMessage
			c.control(http.MethodGet, "/check-runs?repo="+repo, nil, &runs)
			for _, run := range runs {
				texts[side] += string(run)
				var shown struct {
					DetailsURL string `json:"details_url"`
				}
				if err := json.Unmarshal(run, &shown); err != nil {
					t.Fatal(err)
				}
				texts[side] += c.page(shown.DetailsURL)
			}
		}
	}
	if !strings.Contains(texts[theirSecret], theirSecret) || !strings.Contains(texts[hostileWords], hostileWords) {
		t.Error("the check runs do not show what they are about, so that this test shows nothing")
	}
	for side, other := range map[string]string{theirSecret: hostileWords, hostileWords: theirSecret} {
		if at := strings.Index(texts[side], other); at >= 0 {
			t.Errorf("the side of %s has: %.300s", side, texts[side][max(at-100, 0):])
		}
	}
	if strings.Contains(texts[hostileWords], fmt.Sprintf("%s/mirrors/%d", c.data, c.ids[1])) ||
		strings.Contains(texts[hostileWords], "root:x:0") { // other folders it names itself
		t.Error("check runs name folders of the server, or show its files")
	}
	log := c.server.logs.String()
	if strings.Contains(log, theirSecret) || strings.Contains(log, hostileWords) {
		t.Error("the log shows what repositories hold")
	}

	hash := exec.CommandContext(c.ctx, "git", "hash-object", "--stdin")
	hash.Stdin = strings.NewReader(secret)
	out, err := hash.Output()
	if err != nil {
		t.Fatal(err)
	}
	object := string(bytes.TrimSpace(out))
	var dirs []string
	for _, folder := range []string{"mirrors", "sources"} {
		dirs = append(dirs, gitDirs(t, filepath.Join(c.data, folder))...)
	}
	found := holding(c.ctx, dirs, object)
	if len(found) != 1 || !strings.Contains(found[0], fmt.Sprint(c.ids[0])) {
		t.Errorf("the secret is in %v of %d git folders", found, len(dirs))
	}
	err = filepath.WalkDir(filepath.Join(c.data, "cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if rel, _ := filepath.Rel(filepath.Join(c.data, "cache"), path); bytes.Contains(data, []byte(theirSecret)) &&
			!strings.HasPrefix(rel, fmt.Sprintf("%d.", c.ids[0])) {
			t.Errorf("the secret is in the cache of another: %s", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// page is what everybody may see of a result.
func (c *crowd) page(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" || u.Host != "127.0.0.1:9" {
		return ""
	}
	res, err := http.Get(c.server.url + u.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}
