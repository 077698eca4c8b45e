package worker_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// standinFaults are the ways in which a request can be disturbed.
var standinFaults = map[string]fields{
	"502":               {"do": "status", "status": 502},
	"500 and HTML":      {"do": "status", "status": 500, "html": true},
	"503 with a wait":   {"do": "status", "status": 503, "headers": fields{"Retry-After": "1"}},
	"408":               {"do": "status", "status": 408},
	"cut":               {"do": "truncate"},
	"reset":             {"do": "reset"},
	"slow":              {"do": "slow", "delay_ms": 1500},
	"late 502":          {"do": "timeout", "delay_ms": 2000},
	"no answer":         {"do": "hang", "delay_ms": 3000},
	"secondary":         {"do": "secondary", "retry_after": 2},
	"secondary 429":     {"do": "secondary", "status": 429, "retry_after": 2},
	"primary":           {"do": "primary", "reset_in": 3},
	"primary 429":       {"do": "primary", "status": 429, "reset_in": 3},
	"done, answer lost": {"do": "status", "status": 502, "commit": true},
	"done, then reset":  {"do": "reset", "commit": true},
}

// faultScenes disturb the requests of a pull request's life. Each kind of fault meets a write, and some a read, too;
// all meet all where LINTEL_TEST_ALL_FAULTS is set, which takes minutes.
func faultScenes() []standinScene {
	requests := []string{"checks/update", "checks/create", "pulls/get", "git/get-ref", "checks/list-for-ref",
		"pulls/list-reviews", "pulls/list-commits",
		"repos/get-collaborator-permission-level", "checks/get", "apps/create-installation-access-token",
		"teams/get-membership-for-user-in-org", "git-upload-pack"}
	var scenes []standinScene
	add := func(name string, match, fault fields) {
		scenes = append(scenes, standinScene{name: name, play: func(s *standin) {
			faulty(s, maps.Clone(match), maps.Clone(fault))
		}})
	}
	for i, name := range slices.Sorted(maps.Keys(standinFaults)) {
		for j, op := range requests {
			if read := i%3 == 0 && j == 2+i%(len(requests)-2); os.Getenv("LINTEL_TEST_ALL_FAULTS") == "" && j != i%2 && !read {
				continue
			}
			scope := "api"
			if op == "git-upload-pack" {
				if scope = "git"; strings.Contains(name, "done") || strings.Contains(name, "ary") ||
					strings.Contains(name, "late") {
					continue // not for git
				}
			}
			add(op+" "+name, fields{"scope": scope, "op": op}, standinFaults[name])
		}
	}
	late := maps.Clone(standinFaults["done, answer lost"])
	late["skip"] = 2 // of the annotations, and of the conclusion
	add("checks/update third, answer lost", fields{"scope": "api", "op": "checks/update"}, late)
	add("git 429", fields{"scope": "git"}, fields{"do": "status", "status": 429, "headers": fields{"Retry-After": "1"}})
	add("git cut in the pack", fields{"scope": "git", "method": "POST"},
		fields{"do": "truncate", "bytes": 3000, "times": 2})
	add("everything, one in five", fields{"scope": "any"},
		fields{"do": "status", "status": 502, "probability": 0.2, "times": 20})
	add("everything, done or not", fields{"scope": "any", "method": "PATCH"},
		fields{"do": "reset", "commit": true, "probability": 0.5, "times": 3})
	return scenes
}

// faulty is a pull request that needs an approval and has many findings, under a fault.
func faulty(s *standin, match, fault fields) {
	switch org, _, _ := strings.Cut(s.repo, "/"); match["op"] {
	case "apps/create-installation-access-token":
		match["path"] = fmt.Sprintf("/installations/%d/access_tokens", s.installation)
	case "teams/get-membership-for-user-in-org":
		match["path"] = "/orgs/" + org + "/"
	}
	s.push("change", with(s.excepted(), manyFindings()))
	s.fault(match, fault)
	if match["op"] == "checks/update" || match["method"] == "PATCH" {
		// A check run is updated only if it was there before the result: of a check that takes a while.
		s.fault(fields{"scope": "git"}, fields{"do": "slow", "delay_ms": 2500, "times": nil})
	}
	n := s.pull("change")
	s.review(n, "carol", "APPROVE")
	s.ends(2, map[int]string{n: "failure"})
	s.push("change", map[string]string{"platform/pods.yaml": ""})
	s.ends(1, map[int]string{n: "success"})
}
