package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is a stand-in that enforces GitHub's secondary limits, a server, and installations with repositories.
type crowd struct {
	*standin
	server *process
	data   string   // the server's folder
	repos  []string // owner/name, of all installations
	ids    []int64  // of the installations
}

// crowdPolicy and crowdRoot are as little as a check needs.
const (
	crowdPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owned}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      failureAction: Enforce
      message: needs an owner
      pattern: {metadata: {labels: {owner: "?*"}}}
`
	crowdRoot = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [config.yaml]\n"
)

func crowdConfig(owner, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, labels: {owner: %q}}\ndata: {text: %q}\n",
		owner, data)
}

func newCrowd(ctx context.Context, t *testing.T, installations, repositories int, env ...string) *crowd {
	t.Helper()
	skipWithoutStandin(t)
	binary := buildLintel(t)
	s := startStandin(ctx, t)
	s.control(http.MethodPatch, "/settings", fields{"secondary": "enforce"}, nil)
	app := s.register()
	c := &crowd{standin: s, data: t.TempDir()}
	c.server = serve(t, binary, hosting{s.base, app.ID, []byte(app.PEM), app.Secret}, c.data, env...)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": c.server.url + "/webhook"}, nil)
	for i := range installations {
		org := fmt.Sprintf("org-%d", i)
		s.control(http.MethodPut, "/orgs/"+org, fields{"members": []string{"alice"}, "owners": []string{"olga"}}, nil)
		for j := range repositories {
			repo := fmt.Sprintf("%s/repo-%d", org, j)
			s.control(http.MethodPost, "/repos", fields{"full_name": repo, "files": fields{"policies/owned.yaml": crowdPolicy,
				"app/kustomization.yaml": crowdRoot, "app/config.yaml": crowdConfig("me", "")}}, nil)
			c.repos = append(c.repos, repo)
		}
		var installed struct{ ID int64 }
		s.control(http.MethodPost, "/installations?wait=1", fields{"account": org}, &installed)
		c.ids = append(c.ids, installed.ID)
	}
	s.control(http.MethodGet, "/wait?idle=1&timeout=120", nil, nil)
	return c
}

// push changes a branch; what is pushed is fine or lacks a label, by turns.
func (c *crowd) push(repo, branch, text string, fine bool) string {
	var out struct{ SHA string }
	owner := ""
	if fine {
		owner = "me"
	}
	c.control(http.MethodPost, "/repos/"+repo+"/commits", fields{"branch": branch, "base": "main", "user": "alice",
		"message": text, "files": fields{"app/config.yaml": crowdConfig(owner, text)}}, &out)
	return out.SHA
}

func (c *crowd) pull(repo, branch string) {
	c.control(http.MethodPost, "/repos/"+repo+"/pulls", fields{"head": branch, "title": branch, "user": "alice"}, nil)
}

type crowdRequest struct {
	Op, Method, Path, Actor string
	Status                  int
	N                       int
}

func (c *crowd) requests(since int) (all []crowdRequest) {
	c.control(http.MethodGet, fmt.Sprintf("/requests?since=%d", since), nil, &all)
	return all
}

// unlimited requires that no limit was met or ignored.
func (c *crowd) unlimited() {
	c.t.Helper()
	var violations []fields
	c.control(http.MethodGet, "/violations?kind=rate", nil, &violations)
	if len(violations) > 0 {
		c.t.Errorf("%d limits were met, first: %v", len(violations), violations[0])
	}
}

// What a check asks of GitHub, at most.
func TestStandinRequestsOfACheck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := newCrowd(ctx, t, 1, 1)
	repo := c.repos[0]
	opened := c.push(repo, "first", "1", true)
	c.pull(repo, "first")
	c.completed(repo, opened, 1) // on a busy machine nothing may be asked for a while, and the check goes on
	c.control(http.MethodGet, "/wait?idle=1", nil, nil)
	before := c.requests(0)
	last := before[len(before)-1].N
	begun := time.Now()
	head := c.push(repo, "first", "2", false)
	c.completed(repo, head, 1)
	took := time.Since(begun)
	c.control(http.MethodGet, "/wait?idle=1", nil, nil)
	points, created, completed := 0, 0, 0
	var list []string
	for _, r := range c.requests(last) {
		switch r.Method {
		case http.MethodGet:
			points++
		case http.MethodPost:
			points, created = points+5, created+1
		default:
			completed++ // of a run that was created first, because the check took long on a busy machine
		}
		list = append(list, fmt.Sprintf("%s %s %s %d", r.Actor, r.Method, r.Path, r.Status))
	}
	slices.Sort(list)
	const patience = 2 * time.Second                                                       // of the server: only a check that takes longer is created before it completes
	if points > 23 || created != 1 || completed > 1 || completed == 1 && took < patience { // a job about the push, and another look at the pull request, are among them
		t.Errorf("%d points:\n%s", points, strings.Join(list, "\n"))
	}
	c.clean()
	c.unlimited()
}

// spread is how long things took: the middle, and what one of a hundred took longer than.
func spread(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d checks: p50 %s, p99 %s, longest %s", len(took), at(50), at(99), at(100))
}

// pushed is a commit whose check is waited for.
type pushed struct {
	repo, head string
	newest     bool
	at         time.Time
}

// took returns how long checks took from the push to the completed check run. The newest head of each pull request has to
// have one with the right conclusion; those before may have been overtaken.
func (c *crowd) took(all []pushed, want map[string]string) (took []time.Duration) {
	c.t.Helper()
	type run struct {
		HeadSHA string `json:"head_sha"`
		History []struct {
			At     time.Time
			Status string
		}
		Conclusion string
	}
	ended := map[string]run{}
	for _, repo := range c.repos {
		var runs []run
		c.control(http.MethodGet, "/check-runs?repo="+repo+"&name=Lintel&status=completed", nil, &runs)
		for _, r := range runs {
			ended[r.HeadSHA] = r
		}
	}
	for _, p := range all {
		r, ok := ended[p.head]
		if !ok {
			if p.newest {
				c.t.Errorf("%s: the newest head %s has no completed check run", p.repo, p.head)
			}
			continue
		}
		if p.newest && r.Conclusion != want[p.head] {
			c.t.Errorf("%s: %s is %s, want %s", p.repo, p.head, r.Conclusion, want[p.head])
		}
		if r.Conclusion != "cancelled" {
			took = append(took, r.History[len(r.History)-1].At.Sub(p.at.Truncate(time.Second)))
		}
	}
	return took
}

// TestStandinPace has 20 installations get 15 pushes a minute each, and one of them 200 at once besides: no limit of
// GitHub's is met, each newest head has its result, and the others do not wait for the one. Its full size takes ten
// minutes: go test ./bot -run TestStandinPace -soak -v -timeout 30m.
func TestStandinPace(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	installations, minutes, burst := 3, 0, 12
	if *soak {
		installations, minutes, burst = 20, 3, 200
	} else {
		t.Parallel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	c := newCrowd(ctx, t, installations, 3, "LINTEL_WORKERS="+strconv.Itoa(min(installations, 24)))
	branches := 5 // of each repository: 15 of each installation
	if !*soak {
		branches = 1
	}
	var (
		mu     sync.Mutex
		all    []pushed
		newest = map[string]int{} // index in all, by branch
		want   = map[string]string{}
	)
	slots := make(chan struct{}, 16)
	push := func(repo, branch string, n int, first bool) {
		slots <- struct{}{}
		defer func() { <-slots }()
		at := time.Now()
		fine := n%2 == 0
		head := c.push(repo, branch, fmt.Sprintf("%s %d", branch, n), fine)
		if first {
			c.pull(repo, branch)
		}
		mu.Lock()
		defer mu.Unlock()
		if before, ok := newest[repo+branch]; ok {
			all[before].newest = false
		}
		newest[repo+branch] = len(all)
		all = append(all, pushed{repo, head, true, at})
		want[head] = map[bool]string{true: "success", false: "failure"}[fine]
	}
	settle := func() (n int) {
		mu.Lock()
		n = len(all)
		for name, i := range newest {
			p := all[i]
			mu.Unlock()
			if err := c.try(http.MethodGet, c.base+"/_control/wait?repo="+p.repo+"&sha="+p.head+"&timeout=600", nil, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mu.Lock()
		}
		mu.Unlock()
		return n
	}
	// The pushes of a minute, one after the other.
	tick := time.NewTicker(time.Minute / time.Duration(len(c.repos)*branches))
	defer tick.Stop()
	begun := time.Now()
	for n := range minutes + 1 {
		var pushing sync.WaitGroup
		for b := range branches {
			for _, repo := range c.repos {
				if n > 0 {
					<-tick.C
				}
				pushing.Go(func() { push(repo, fmt.Sprintf("change-%d", b), n, n == 0) })
			}
		}
		pushing.Wait() // of one branch in order
		if n == 0 {
			begun = time.Now()
		}
	}
	if minutes > 0 {
		t.Logf("%.0f pushes a minute", float64(len(c.repos)*branches*minutes)/time.Since(begun).Minutes())
	}
	n := settle()
	if minutes > 0 { // by the stand-in's clock, which has whole seconds
		t.Logf("opened at once: %s", spread(c.took(all[:len(c.repos)*branches], want)))
	}
	t.Logf("pushed one after the other: %s", spread(c.took(all[len(c.repos)*branches*min(minutes, 1):n], want)))
	c.unlimited()

	// One opens a lot at once, the others go on.
	heads := make([]string, burst)
	var pushing sync.WaitGroup
	for i := range burst {
		pushing.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			heads[i] = c.push(c.repos[i%3], fmt.Sprintf("burst-%d", i), fmt.Sprint(i), i%2 == 0)
		})
	}
	pushing.Wait()
	c.control(http.MethodGet, "/wait?idle=1&timeout=120", nil, nil)
	begun = time.Now()
	for i := range burst {
		pushing.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			branch := fmt.Sprintf("burst-%d", i)
			at := time.Now()
			c.pull(c.repos[i%3], branch)
			mu.Lock()
			defer mu.Unlock()
			newest[c.repos[i%3]+branch] = len(all)
			all = append(all, pushed{c.repos[i%3], heads[i], true, at})
			want[heads[i]] = map[bool]string{true: "success", false: "failure"}[i%2 == 0]
		})
	}
	for i := range burst / 4 {
		if *soak {
			<-tick.C
		}
		push(c.repos[3+i%(len(c.repos)-3)], "change-0", i, false)
	}
	pushing.Wait()
	settle()
	t.Logf("%d opened at once are done after %s", burst, time.Since(begun).Round(time.Second))
	var of [2][]pushed
	for _, p := range all[n:] {
		which := 1
		if slices.Contains(c.repos[:3], p.repo) {
			which = 0
		}
		of[which] = append(of[which], p)
	}
	t.Logf("%d at once: %s", burst, spread(c.took(of[0], want)))
	t.Logf("the others meanwhile: %s", spread(c.took(of[1], want)))
	c.unlimited()
	c.clean()
	c.server.terminate()
	spent := c.server.cmd.ProcessState.UserTime() + c.server.cmd.ProcessState.SystemTime() // also of what it started
	t.Logf("the server, its sandboxes and its git took %s of a processor for each of %d checks",
		(spent / time.Duration(len(all))).Round(time.Millisecond), len(all))
}
