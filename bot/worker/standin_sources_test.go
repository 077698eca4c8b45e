package worker_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestStandinPrivateBase: a private repository of the App's host is read with the installation's token, for who may read
// it or where the base names it, and never for a fork.
func TestStandinPrivateBase(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	s := newStandin(t)
	repo := s.repo
	s.control(http.MethodGet, "/wait?idle=1", nil, nil)
	s.control(http.MethodPut, "/orgs/octo-org", fields{"members": []string{"alice", "bob"}, "owners": []string{"olga"},
		"default_repository_permission": "none"}, nil)
	base := func(image string) fields {
		return fields{"app/kustomization.yaml": "resources: [pod.yaml]\n", "app/pod.yaml": "apiVersion: v1\nkind: Pod\n" +
			"metadata: {name: hidden, namespace: shop}\nspec:\n  containers:\n  - name: a\n    image: registry.octo.example/" +
			image + "\n"}
	}
	s.control(http.MethodPost, "/repos", fields{"full_name": "octo-org/base", "files": base("a:latest")}, nil)
	s.control(http.MethodPut, "/repos/octo-org/base/collaborators/alice", fields{"permission": "read"}, nil)
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/repositories?wait=1", s.installation),
		fields{"add": []string{"octo-org/base"}}, nil)
	secret := fields{"full_name": "octo-org/elsewhere", "files": base("a:latest")} // the App is not there
	s.control(http.MethodPost, "/repos", secret, nil)

	naming := func(name, ref string) fields {
		return fields{"apps/new/kustomization.yaml": fmt.Sprintf("resources:\n- %s/octo-org/%s.git//app?ref=%s\n", s.base, name,
			ref)}
	}
	open := func(who, branch, head string, files fields) standinRun {
		t.Helper()
		var pushed struct{ SHA string }
		s.control(http.MethodPost, "/repos/"+head+"/commits?wait=1",
			fields{"branch": branch, "base": "main", "user": who, "message": "Change", "files": files}, &pushed)
		pull := fields{"head": branch, "title": branch, "user": who}
		if head != repo {
			pull["head_repo"] = head
		}
		s.control(http.MethodPost, "/repos/"+repo+"/pulls?wait=1", pull, nil)
		return s.completed(repo, pushed.SHA, 1)
	}
	says := func(run standinRun, conclusion string, words ...string) {
		t.Helper()
		text := string(run.Output) + string(run.Annotations)
		if run.Conclusion != conclusion {
			t.Errorf("the conclusion is %s, want %s: %s", run.Conclusion, conclusion, text)
		}
		for _, w := range words {
			want := !strings.HasPrefix(w, "!")
			if strings.Contains(text, strings.TrimPrefix(w, "!")) != want {
				t.Errorf("%q: %s", w, text)
			}
		}
	}
	const refused = "it is a private repository that somebody who took part in this change may not read"

	says(open("alice", "reader", repo, naming("base", "main")), "failure", "disallow-latest-tag", "!not read")
	says(open("bob", "stranger", repo, naming("base", "main")), "neutral", refused, "!disallow-latest-tag")
	// Who may not read it pushes to the pull request of somebody who may.
	var theirs struct{ SHA string }
	s.control(http.MethodPost, "/repos/"+repo+"/commits?wait=1", fields{"branch": "reader", "user": "bob", "message": "More",
		"files": fields{"platform/notes.txt": "by bob"}}, &theirs)
	says(s.completed(repo, theirs.SHA, 1), "neutral", refused, "!disallow-latest-tag")
	says(open("alice", "not-installed", repo, naming("elsewhere", "main")), "neutral", "!disallow-latest-tag")
	says(open("alice", "absent", repo, naming("none", "main")), "neutral", "!disallow-latest-tag")

	// The base names it: whoever changes the branch sees what that comes to.
	var pushed struct{ SHA string }
	s.control(http.MethodPost, "/repos/octo-org/base/commits?wait=1", fields{"branch": "next", "base": "main",
		"user": "olga", "message": "Next", "files": base("b:latest")}, nil)
	s.control(http.MethodPost, "/repos/octo-org/base/commits?wait=1", fields{"branch": "stable", "base": "main",
		"user": "olga", "message": "Fixed", "files": base("a:1.0")}, nil)
	s.control(http.MethodPost, "/repos/"+repo+"/commits?wait=1", fields{"branch": "main", "user": "olga",
		"message": "Base", "files": naming("base", "stable")}, &pushed)
	s.completed(repo, pushed.SHA, 1)
	says(open("bob", "bump", repo, naming("base", "next")), "failure", "disallow-latest-tag", "!may not read")
	s.control(http.MethodPost, "/repos/octo-org/base/commits?wait=1", fields{"branch": "later", "base": "main",
		"user": "olga", "message": "Later", "files": base("c:latest")}, nil)
	s.control(http.MethodPost, "/repos", fields{"full_name": "mallory/fleet", "fork_of": repo}, nil)
	says(open("mallory", "fork", "mallory/fleet", naming("base", "later")), "neutral",
		"is not fetched for a change from a fork", "!disallow-latest-tag")
	s.clean("octo-org/none", "octo-org/elsewhere")
}
