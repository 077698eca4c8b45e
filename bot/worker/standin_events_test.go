package worker_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// standinScene is one scenario of its own organization.
type standinScene struct {
	name  string
	play  func(s *standin)
	lacks string // a permission that the installation does not have
}

// play plays scenarios, several at a time: most of them wait.
func (h *hall) play(t *testing.T, scenes []standinScene) {
	t.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, 10)
	for i, scene := range scenes {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(scene.name, func(t *testing.T) { scene.play(h.in(t, fmt.Sprintf("org-%d", i), lacking(scene.lacks))) })
		})
	}
	all.Wait()
}

// permissions are those of deploy/app-manifest.json.
var permissions = fields{"checks": "write", "contents": "read", "members": "read", "merge_queues": "read",
	"metadata": "read", "pull_requests": "read"}

func lacking(permission string) fields {
	rest := maps.Clone(permissions)
	delete(rest, permission)
	return fields{"permissions": rest}
}

func (s *standin) broken() map[string]string {
	return map[string]string{patchPath: read(s.t, sampleChange, patchPath)}
}

// fine is a change that no policy minds.
func fine(name string) map[string]string {
	return map[string]string{"platform/" + name + ".yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name +
		"\n  namespace: shop\n"}
}

// excepted is a change that breaks a policy, with an exception that waits for its approval.
func (s *standin) excepted() map[string]string {
	half := strings.Replace(read(s.t, sampleChange, patchPath), "privileged: true", "privileged: false", 1)
	return map[string]string{patchPath: half, "exceptions/shop.yaml": standinException}
}

func with(files ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		maps.Copy(all, f)
	}
	return all
}

// TestStandinScenes plays what can happen to a pull request, each scene in an organization of its own.
func TestStandinScenes(t *testing.T) {
	if !*soak {
		t.Skip("takes minutes: run with -soak")
	}
	h := newHall(t)
	h.examples(t)
	h.play(t, slices.Concat([]standinScene{{name: "contents", play: contents}}, lives, faultScenes()))
	h.done(t,
		"^rate.primary: ",              // a fault
		"^rate.secondary: ",            // all the contents at once
		"^auth: .*401 Bad credentials", // of the installation that is deleted
	)
}

var lives = []standinScene{
	{name: "a fork", play: func(s *standin) {
		s.control(http.MethodPost, "/repos", fields{"full_name": "mallory/fleet", "fork_of": s.repo}, nil)
		fork := *s
		fork.repo = "mallory/fleet"
		s.control(http.MethodPost, "/repos/mallory/fleet/commits?wait=1",
			fields{"branch": "change", "user": "mallory", "message": "m", "files": s.broken()}, nil)
		n := s.pull("change", fields{"head_repo": fork.repo, "user": "mallory"})
		s.ends(1, map[int]string{n: "failure"})
		s.control(http.MethodPost, "/repos/mallory/fleet/commits?wait=1",
			fields{"branch": "change", "user": "mallory", "message": "m",
				"files": fields{patchPath: read(s.t, sampleRepo, patchPath)}}, nil)
		s.ends(1, map[int]string{n: "success"})
		s.again(n)
		s.ends(2, map[int]string{n: "success"})
		var repo struct {
			Suites []struct {
				ID      int64
				HeadSHA string `json:"head_sha"`
			}
		}
		s.control(http.MethodGet, "/repos/"+s.repo, nil, &repo)
		for _, suite := range repo.Suites {
			s.deliver(fmt.Sprintf("/check-suites/%d/rerequest", suite.ID), fields{"user": "bob"})
		}
		s.ends(3, map[int]string{n: "success"})
	}},
	{name: "a draft", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change", fields{"draft": true})
		s.ends(1, map[int]string{n: "failure"})
		s.editFile(n, fields{"draft": false})
		s.ends(1, map[int]string{n: "failure"})
		s.editFile(n, fields{"draft": true})
		s.editFile(n, fields{"title": "Other", "body": "Text"})
		s.editFile(n, fields{"labels": []string{"x"}})
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "closed and opened again", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		s.editFile(n, fields{"state": "closed"})
		s.push("change", fine("new"))
		s.editFile(n, fields{"state": "open"})
		s.ends(2, map[int]string{n: "failure"})
	}},
	{name: "another base", play: func(s *standin) {
		s.push("release", map[string]string{"policies/disallow-latest-tag.yaml": "", "policies/disallow-privileged.yaml": ""})
		s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
		s.editFile(n, fields{"base": "release"})
		s.ends(2, map[int]string{n: "success"})
		s.push("release", map[string]string{"policies/never.yaml": neverPolicy})
		s.ends(3, map[int]string{n: "success"})
		s.push("release", map[string]string{"policies/disallow-latest-tag.yaml": read(s.t, sampleRepo,
			"policies/disallow-latest-tag.yaml")})
		s.ends(4, map[int]string{n: "failure"})
	}},
	{name: "one head, two bases", play: func(s *standin) {
		s.push("release", map[string]string{"policies/disallow-latest-tag.yaml": "", "policies/disallow-privileged.yaml": ""})
		s.push("change", s.broken())
		a, b := s.pull("change"), s.pull("change", fields{"base": "release"})
		s.ends(2, map[int]string{a: "failure", b: "failure"})
		s.again(b)
		s.ends(3, map[int]string{a: "failure", b: "failure"})
		s.editFile(a, fields{"state": "closed"})
		s.ends(4, map[int]string{b: "success"})
		s.editFile(a, fields{"state": "open"})
		s.ends(5, map[int]string{a: "failure", b: "failure"})
		s.editFile(a, fields{"base": "release"})
		s.ends(6, map[int]string{a: "success", b: "success"})
		s.editFile(b, fields{"base": "main"})
		s.ends(7, map[int]string{a: "failure", b: "failure"})
	}},
	{name: "the same head from a fork against a lax base", play: func(s *standin) {
		s.push("release", map[string]string{"policies/disallow-latest-tag.yaml": "", "policies/disallow-privileged.yaml": ""})
		head := s.push("change", s.broken())
		a := s.pull("change")
		s.ends(1, map[int]string{a: "failure"})
		s.control(http.MethodPost, "/repos", fields{"full_name": "eve/fleet", "fork_of": s.repo}, nil)
		s.control(http.MethodPost, "/repos/eve/fleet/push?wait=1", fields{"ref": "refs/heads/change", "sha": head,
			"user": "eve"}, nil)
		b := s.pull("change", fields{"head_repo": "eve/fleet", "user": "eve", "base": "release"})
		s.ends(2, map[int]string{a: "failure", b: "failure"})
		s.push("change", fine("mended"), fields{"parent": "main"})
		s.ends(3, map[int]string{a: "success", b: "success"}) // each has a head of its own again
	}},
	{name: "an earlier result comes again", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "action_required"})
		for i := range 3 {
			id := s.review(n, "bob", "APPROVE")
			s.ends(2+2*i, map[int]string{n: "success"})
			s.deliver(fmt.Sprintf("/pulls/%d/reviews/%d/dismiss", n, id), fields{"user": "olga", "message": "no"})
			s.ends(3+2*i, map[int]string{n: "action_required"})
		}
		s.again(n)
		s.review(n, "bob", "APPROVE")
		s.review(n, "bob", "REQUEST_CHANGES")
		s.ends(10, map[int]string{n: "failure"})
		s.review(n, "bob", "APPROVE")
		s.ends(11, map[int]string{n: "success"})
	}},
	{name: "the base is forced back", play: func(s *standin) {
		lax := s.push("main", fine("base"), fields{"user": "olga"})
		s.push("change", fine("new"))
		n := s.pull("change")
		s.ends(1, map[int]string{n: "success"})
		strict := s.push("main", map[string]string{"policies/never.yaml": neverPolicy}, fields{"user": "olga"})
		s.ends(2, map[int]string{n: "failure"})
		s.deliver("/push", fields{"ref": "main", "sha": lax, "force": true, "user": "olga"})
		s.ends(3, map[int]string{n: "success"})
		s.deliver("/push", fields{"ref": "main", "sha": strict, "force": true, "user": "olga"})
		s.ends(4, map[int]string{n: "failure"})
	}},
	{name: "pushed over, and back", play: func(s *standin) {
		first := s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
		s.push("change", fine("other"), fields{"parent": "main"})
		s.ends(1, map[int]string{n: "success"})
		s.deliver("/push", fields{"ref": "change", "sha": first, "force": true, "user": "alice"})
		s.ends(1, map[int]string{n: "failure"})
		for range 5 { // faster than any check
			s.push("change", fine("other"), fields{"parent": "main"})
			s.deliver("/push", fields{"ref": "change", "sha": first, "force": true, "user": "alice"})
		}
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "the base moves under it", play: func(s *standin) {
		s.push("change", fine("new"))
		n := s.pull("change")
		s.ends(1, map[int]string{n: "success"})
		s.push("main", map[string]string{"policies/never.yaml": neverPolicy}, fields{"user": "olga"})
		s.ends(2, map[int]string{n: "failure"})
		s.push("main", map[string]string{"policies/never.yaml": ""}, fields{"user": "olga"})
		s.ends(3, map[int]string{n: "success"})
		s.push("main", map[string]string{"CODEOWNERS": "* @bob\n"}, fields{"user": "olga", "parent": "main~1"})
		s.ends(4, map[int]string{n: "failure"})
	}},
	{name: "in conflict with the base", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		s.push("main", map[string]string{patchPath: "# other\n" + read(s.t, sampleRepo, patchPath)}, fields{"user": "olga"})
		s.ends(2, map[int]string{n: "failure"})
	}},
	{name: "merged", play: func(s *standin) {
		s.push("change", fine("a"))
		s.push("other", fine("b"))
		a, b := s.pull("change"), s.pull("other")
		s.ends(1, map[int]string{a: "success", b: "success"})
		s.deliver(fmt.Sprintf("/pulls/%d/merge", a), fields{"user": "olga", "method": "squash"})
		s.ends(2, map[int]string{b: "success"})
		s.deliver("/push", fields{"ref": "change", "delete": true, "user": "olga"})
		s.deliver("/push", fields{"ref": "other", "delete": true, "user": "olga"}) // closes the other one
		s.ends(2, nil)
	}},
	{name: "approved, dismissed, refused", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "action_required"})
		s.review(n, "mallory", "APPROVE") // nobody
		s.review(n, "olga", "APPROVE")    // an owner, but not one of the team
		s.review(n, "bob", "COMMENT")
		s.ends(3, map[int]string{n: "action_required"})
		id := s.review(n, "bob", "APPROVE")
		s.ends(4, map[int]string{n: "success"})
		s.review(n, "bob", "COMMENT")
		s.ends(4, map[int]string{n: "success"})
		s.deliver(fmt.Sprintf("/pulls/%d/reviews/%d/dismiss", n, id), fields{"user": "olga", "message": "no"})
		s.ends(5, map[int]string{n: "action_required"})
		s.review(n, "carol", "REQUEST_CHANGES")
		s.ends(6, map[int]string{n: "failure"})
		s.review(n, "carol", "APPROVE")
		s.ends(7, map[int]string{n: "success"})
		s.push("change", fine("new"))
		s.ends(1, map[int]string{n: "success"})
		s.push("change", map[string]string{"exceptions/shop.yaml": standinException + "# more\n"})
		s.ends(1, map[int]string{n: "action_required"})
	}},
	{name: "pushed into by somebody else", play: func(s *standin) {
		never := strings.Replace(neverPolicy, "  rules:", "  background: false\n  rules:", 1)
		s.push("main", map[string]string{"policies/never.yaml": strings.Replace(never, "      validate:",
			"      exclude:\n        any:\n          - subjects: [{kind: User, name: alice}]\n      validate:", 1)}, fields{"user": "olga"})
		s.push("change", fine("new"))
		n := s.pull("change")
		s.ends(1, map[int]string{n: "success"})
		s.push("change", fine("more"), fields{"user": "bob", "author": fields{"name": "alice", "email": "alice@example.com"}})
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "approved by who pushed", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.push("change", fine("new"), fields{"user": "bob", "author": fields{"name": "alice", "email": "alice@example.com"}})
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "action_required"})
		s.review(n, "carol", "APPROVE")
		s.ends(3, map[int]string{n: "success"})
	}},
	{name: "approved by who pushed before it was opened", play: func(s *standin) {
		s.push("change", s.excepted(), fields{"user": "bob", "author": fields{"name": "alice", "email": "alice@example.com"}})
		n := s.pull("change")
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "action_required"})
	}},
	{name: "approved by who pushed while it was closed", play: func(s *standin) {
		s.push("change", fine("new"))
		n := s.pull("change")
		s.editFile(n, fields{"state": "closed"})
		s.push("change", s.excepted(), fields{"user": "bob", "author": fields{"name": "alice", "email": "alice@example.com"}})
		s.editFile(n, fields{"state": "open", "user": "alice"})
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "action_required"})
		s.review(n, "carol", "APPROVE")
		s.ends(3, map[int]string{n: "success"})
	}},
	{name: "approved by who only opened it again", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.editFile(n, fields{"state": "closed"})
		s.editFile(n, fields{"state": "open", "user": "bob"})
		s.review(n, "bob", "APPROVE")
		s.ends(3, map[int]string{n: "success"})
	}},
	{name: "owners of other kinds", play: func(s *standin) {
		org, _, _ := strings.Cut(s.repo, "/")
		s.push("main", map[string]string{".lintel.yaml": "policies: [policies/]\nexceptions: [exceptions/]\n",
			"CODEOWNERS": "* @bob\n[Section]\n/exceptions/ @other-org/team @" + org +
				"/none me@example.com @nobody-there # all of them\n!/exceptions/ @bob\n"}, fields{"user": "olga"})
		s.push("change", s.excepted())
		n := s.pull("change")
		s.review(n, "bob", "APPROVE")
		s.ends(3, map[int]string{n: "action_required"})
	}},
	{name: "merge queue", play: func(s *standin) {
		s.push("change", fine("a"))
		s.push("other", s.broken())
		a, b := s.pull("change"), s.pull("other")
		s.ends(1, map[int]string{a: "success", b: "failure"})
		var groups [3]struct {
			ID      int64
			HeadSHA string `json:"head_sha"`
		}
		s.control(http.MethodPost, "/repos/"+s.repo+"/merge-queue?wait=1", fields{"pulls": []int{a}, "user": "alice"},
			&groups[0])
		s.control(http.MethodPost, "/repos/"+s.repo+"/merge-queue?wait=1",
			fields{"pulls": []int{b}, "user": "alice", "stack": true}, &groups[1])
		if run := s.completed(s.repo, groups[0].HeadSHA, 1); run.Conclusion != "success" {
			s.t.Errorf("the group without violations: %+v", run)
		}
		run := s.completed(s.repo, groups[1].HeadSHA, 1)
		if run.Conclusion != "failure" {
			s.t.Errorf("the group with violations: %+v", run)
		}
		s.deliver(fmt.Sprintf("/check-runs/%d/rerequest", run.ID), fields{"user": "alice"})
		s.completed(s.repo, groups[1].HeadSHA, 2)
		s.deliver(fmt.Sprintf("/merge-queue/%d/destroy", groups[1].ID), fields{"user": "alice", "reason": "invalidated"})
		s.deliver(fmt.Sprintf("/merge-queue/%d/merge", groups[0].ID), fields{"user": "alice"})
		s.ends(2, map[int]string{b: "failure"})
		// Destroyed before it is looked at.
		s.control(http.MethodPost, "/repos/"+s.repo+"/merge-queue", fields{"pulls": []int{b}, "user": "alice"}, &groups[2])
		s.deliver(fmt.Sprintf("/merge-queue/%d/destroy", groups[2].ID), fields{"user": "alice"})
		s.ends(2, map[int]string{b: "failure"})
	}},
	{name: "an approved exception in the merge queue", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "success"})
		for i, then := range []struct {
			main       map[string]string // the base branch then has
			conclusion string
		}{
			{map[string]string{"notes.md": "x\n"}, "success"},
			{map[string]string{"exceptions/kustomization.yaml": "resources: [node-agent.yaml, shop.yaml]\npatches:\n" +
				"- target: {kind: PolicyException, name: shop}\n  patch: '- {op: add, path: /metadata/labels, value: {cleanup.kyverno.io/ttl: 99h}}'\n"},
				"action_required"},
		} {
			s.push("main", then.main, fields{"user": "olga"})
			var group struct {
				ID      int64
				HeadSHA string `json:"head_sha"`
			}
			s.control(http.MethodPost, "/repos/"+s.repo+"/merge-queue?wait=1", fields{"pulls": []int{n}, "user": "alice"}, &group)
			if run := s.completed(s.repo, group.HeadSHA, 1); run.Conclusion != then.conclusion {
				s.t.Errorf("group %d: %s, want %s: %s", i, run.Conclusion, then.conclusion, run.Output)
			}
			s.deliver(fmt.Sprintf("/merge-queue/%d/destroy", group.ID), fields{"user": "alice", "reason": "dequeued"})
		}
	}},
	{name: "renamed twice", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		org, _, _ := strings.Cut(s.repo, "/")
		s.control(http.MethodPatch, "/repos/"+s.repo, fields{"name": "second", "sender": "olga"}, nil)
		s.repo = org + "/second"
		s.push("change", fine("a"))
		s.control(http.MethodPatch, "/repos/"+s.repo, fields{"name": "third", "sender": "olga"}, nil)
		s.repo = org + "/third"
		s.ends(1, map[int]string{n: "failure"})
		s.push("change", map[string]string{patchPath: read(s.t, sampleRepo, patchPath)})
		s.ends(1, map[int]string{n: "success"})
	}},
	{name: "access taken and given", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
		at := fmt.Sprintf("/installations/%d", s.installation)
		s.control(http.MethodPost, at+"/repositories?wait=1", fields{"remove": []string{s.repo}}, nil)
		s.push("change", map[string]string{patchPath: read(s.t, sampleRepo, patchPath)})
		s.control(http.MethodPost, at+"/repositories?wait=1", fields{"add": []string{s.repo}}, nil)
		s.ends(1, map[int]string{n: "success"})
		s.control(http.MethodPost, at+"/suspend?wait=1", nil, nil)
		s.push("change", s.broken())
		s.control(http.MethodPost, at+"/unsuspend?wait=1", nil, nil)
		s.ends(1, map[int]string{n: "failure"})
		s.control(http.MethodDelete, at+"?wait=1", fields{}, nil)
		s.push("change", fine("new"))
		org, _, _ := strings.Cut(s.repo, "/")
		s.control(http.MethodPost, "/installations?wait=1", fields{"account": org}, nil)
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "members are not told", lacks: "members", play: func(s *standin) {
		s.push("change", s.excepted())
		n := s.pull("change")
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "action_required"})
		s.control(http.MethodPost, fmt.Sprintf("/installations/%d/permissions?wait=1", s.installation),
			fields{"permissions": permissions}, nil)
		s.review(n, "carol", "APPROVE")
		s.ends(3, map[int]string{n: "success"})
	}},
	{name: "a public repository", play: func(s *standin) {
		s.control(http.MethodPatch, "/repos/"+s.repo, fields{"private": false}, nil)
		s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "a user's repository", play: func(s *standin) {
		user := strings.ReplaceAll(s.repo, "/fleet", "-user")
		s.control(http.MethodPost, "/repos", fields{"full_name": user + "/fleet", "files": folderFiles(s.t, sampleRepo)}, nil)
		s.control(http.MethodPost, "/installations?wait=1", fields{"account": user}, nil)
		s.repo = user + "/fleet"
		s.push("change", s.excepted())
		n := s.pull("change", fields{"user": user})
		s.review(n, "bob", "APPROVE")
		s.ends(2, map[int]string{n: "action_required"})
	}},
	{name: "many files and many findings", play: func(s *standin) {
		files := map[string]string{}
		for i := range 420 {
			files[fmt.Sprintf("many/pod-%03d.yaml", i)] = fmt.Sprintf(
				"apiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-%d\n  namespace: shop\nspec:\n  containers:\n    - name: a\n "+
					"     image: registry.octo.example/a:latest\n", i)
		}
		s.push("change", files)
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
	}},
	{name: "many commits", play: func(s *standin) {
		for i := range 12 {
			s.push("change", fine(fmt.Sprint("c", i)))
		}
		n := s.pull("change")
		for i := range 12 {
			s.push("change", fine(fmt.Sprint("d", i)))
		}
		s.ends(1, map[int]string{n: "success"})
	}},
	{name: "clicks without end", play: func(s *standin) {
		s.push("change", s.broken())
		n := s.pull("change")
		s.ends(1, map[int]string{n: "failure"})
		for i := range 3 {
			s.again(n)
			s.ends(i+2, map[int]string{n: "failure"})
		}
	}},
	{name: "tags and odd branches", play: func(s *standin) {
		head := s.push("change", s.broken())
		s.deliver("/push", fields{"ref": "refs/tags/v1", "sha": head, "user": "alice"})
		s.deliver("/push", fields{"ref": "refs/tags/v1", "delete": true, "user": "alice"})
		for _, name := range []string{"a.b/c+d", "dependabot/npm_and_yarn/@scope/pkg-1.2.3", "feature#1"} {
			s.push(name, s.broken())
			n := s.pull(name)
			base := "base-" + name
			s.push(base, map[string]string{"README.md": "x"})
			s.editFile(n, fields{"base": base})
			s.ends(2, map[int]string{n: "failure"})
		}
	}},
}

// again asks for the newest check run of a pull request's head again.
func (s *standin) again(number int) {
	s.t.Helper()
	var pull struct {
		Head struct{ SHA string }
	}
	s.control(http.MethodGet, fmt.Sprintf("/repos/%s/pulls/%d", s.repo, number), nil, &pull)
	var runs []sceneRun
	s.control(http.MethodGet, fmt.Sprintf("/check-runs?repo=%s&sha=%s", s.repo, pull.Head.SHA), nil, &runs)
	id := int64(0)
	for _, run := range runs {
		if strings.HasPrefix(run.ExternalID, fmt.Sprintf("pr-%d", number)) {
			id = max(id, run.ID)
		}
	}
	s.deliver(fmt.Sprintf("/check-runs/%d/rerequest", id), fields{"user": "alice"})
}
