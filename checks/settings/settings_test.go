package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
)

func TestParseSettings(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", ""},
		{"comment", "# nothing\n", ""},
		{"all", "policies: [p/]\nexceptions: [e/]\napprovers: {users: [a], teams: [o/t], codeowners: false, count: " +
			"2}\nroots: {include: ['**'], exclude: ['x/**']}\n" +
			"context: [c.yaml]\nidentities: {users: {u: {username: n, groups: [g], roles: [], clusterRoles: []}}, teams: " +
			"{o/t: {groups: [g]}}}\nblock: all\nlimits: {depth: 50}\n" +
			"sources: {allow: ['https://github.com/octo-org/**', 'oci://**']}\n", ""},
		{"no sources", "sources: {allow: []}\n", ""},
		{"source", "sources:\n  allow:\n  - https://**\n  - github.com/octo-org\n",
			`.lintel.yaml:4: sources.allow: "github.com/octo-org" is not a pattern of addresses: write https://**, oci://`},
		{"source that fits longer names", "sources: {allow: ['https://github.com']}\n", ".lintel.yaml:1: sources.allow: "},
		{"source for a list", "sources: {allow: 'https://**'}\n",
			".lintel.yaml:1: sources.allow: must be a list: write ['https://**']"},
		{"field of sources", "sources:\n  alow: []\n",
			`.lintel.yaml:2: sources: the field "alow" is not known: did you mean "allow"?`},
		{"unknown field", "policies: []\nrots: {}\n", `.lintel.yaml:2: the field "rots" is not known: did you mean "roots"?`},
		{"unknown inner field", "approvers:\n  user: [a]\n",
			`.lintel.yaml:2: approvers: the field "user" is not known: did you mean "users"?`},
		{"wrong type", "policies: policies/*.yaml\n",
			".lintel.yaml:1: policies: must be a list: write ['policies/*.yaml']"},
		{"syntax", "a: b\n c: d\n", ".lintel.yaml:2: is not valid YAML"},
		{"block", "\nblock: some\n",
			`.lintel.yaml:2: block: "some" is not known: write new, all, or a map with the fields audit, existing`},
		{"block in parts", "block: {existing: false, audit: true}\n", ""},
		{"block in words", "block:\n  audit: maybe\n", ".lintel.yaml:2: block.audit: must be true or false"},
		{"field of block", "block:\n  existing: true\n  audits: true\n",
			`.lintel.yaml:3: block: the field "audits" is not known: did you mean "audit"?`},
		{"block twice", "block: {audit: true, audit: false}\n", `block: "audit" is written twice: keep one`},
		{"load restrictor", "kustomize: {loadRestrictor: LoadRestrictionsNone}\n", ""},
		{"unknown load restrictor", "kustomize:\n  loadRestrictor: none\n",
			`.lintel.yaml:2: kustomize.loadRestrictor: "none" is not known: write LoadRestrictionsRootOnly or LoadRestrictionsNone`},
		{"mode", "mode: advisory\n", ""},
		{"unknown mode", "\nmode: quiet\n", `.lintel.yaml:2: mode: "quiet" is not known: write enforce or advisory`},
		{"team", "approvers: {teams: [security]}\n",
			`.lintel.yaml:1: approvers.teams: "security" must be written as organization/team`},
		{"outside", "policies: [../x]\n", `.lintel.yaml:1: policies: "../x" points outside the repository`},
		{"absolute", "context: [/etc]\n", `.lintel.yaml:1: context: "/etc" points outside the repository`},
		{"nothing like it", "timeout: 5m\n", `the field "timeout" is not known: there are annotations, approvers, block, charts, checks, clusters, `},
		{"the line of the value", "policies:\n- a\n- ../x\n", `.lintel.yaml:3: policies: "../x" points outside`},
		{"the line of the team", "approvers:\n  teams:\n  - o/t\n  - ops\n",
			`.lintel.yaml:4: approvers.teams: "ops" must be written as organization/team`},
		{"the line of the glob", "roots:\n  exclude:\n  - ../a\n", ".lintel.yaml:3: roots.exclude: "},
		{"map for a list", "roots:\n  include:\n    a: b\n", ".lintel.yaml:3: roots.include: must be a list"},
		{"list for a map", "approvers:\n- a\n", ".lintel.yaml:2: approvers: must be a map with the fields users, teams, "},
		{"text for a number", "approvers:\n  count: two\n",
			".lintel.yaml:2: approvers.count: must be a whole number, without quotes"},
		{"text for a boolean", "approvers:\n  codeowners: maybe\n", ".lintel.yaml:2: approvers.codeowners: must be true or "},
		{"twice", "block: new\npolicies: [a]\nblock: all\n", `.lintel.yaml:3: "block" is written twice: keep one`},
		{"twice below", "roots:\n  include: [a]\n  include: [b]\n", `.lintel.yaml:3: roots: "include" is written twice`},
		{"user twice", "identities:\n  users:\n    a: {}\n    a: {}\n", `.lintel.yaml:4: identities.users: "a" is written`},
		{"field of a user", "identities:\n  users:\n    a: {group: [b]}\n",
			`.lintel.yaml:3: identities.users.a: the field "group" is not known: did you mean "groups"?`},
		{"several", "polices: [a]\nblock: [new]\n", ".lintel.yaml:2: block: \"\" is not known: write new, all, or a map"},
		{"two documents", "block: new\n---\nblock: all\n", ".lintel.yaml:3: holds more than one document"},
		{"list", "- a\n", ".lintel.yaml:1: must be a map with the fields policies, exceptions, "},
		{"cluster without roots", "block: all\nclusters: {prod: {policies: [p]}}\n",
			".lintel.yaml:2: clusters.prod.roots: is missing"},
		{"cluster outside", "clusters: {prod: {roots: [a], policies: [../p]}}\n",
			`.lintel.yaml:1: clusters.prod.policies: "../p" points outside the repository`},
		{"cluster version", "clusters: {prod: {roots: [a], kubernetes: latest}}\n", `"latest" is not a version`},
		{"cluster complete kind", "clusters: {prod: {roots: [a], complete: [ConfigMap]}}\n", `"ConfigMap" cannot be complete`},
		{"unknown field of a cluster", "clusters:\n  prod:\n    rots: [a]\n",
			`.lintel.yaml:3: clusters.prod: the field "rots" is not known: did you mean "roots"?`},
		{"annotations", "annotations: {max: 0}\n", ""},
		{"all annotations", "annotations: {max: 1000}\n", ""},
		{"too many annotations", "block: all\nannotations:\n  max: 1001\n",
			".lintel.yaml:3: annotations.max: must be a whole number from 0 (none) to 1000"},
		{"fewer than no annotations", "annotations: {max: -1}\n",
			".lintel.yaml:1: annotations.max: must be a whole number from 0 (none) to 1000"},
		{"annotations in words", "annotations: {max: many}\n",
			".lintel.yaml:1: annotations.max: must be a whole number, without quotes"},
		{"field of annotations", "annotations:\n  mx: 3\n",
			`.lintel.yaml:2: annotations: the field "mx" is not known: did you mean "max"?`},
		{"nearly annotations", "anotations: {max: 3}\n",
			`.lintel.yaml:1: the field "anotations" is not known: did you mean "annotations"?`},
		{"number for annotations", "annotations: 3\n", ".lintel.yaml:1: annotations: must be a map with the fields max"},
		{"negative count", "approvers: {count: -1}\n", ".lintel.yaml:1: approvers.count: cannot be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Default()
			problems := parseSettings([]byte(c.data), s)
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			if got := strings.Join(all, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.want == "" && s.Mode == "" {
				t.Error("there is no mode")
			}
		})
	}
}

func TestBlock(t *testing.T) {
	for text, want := range map[string]Block{"": {}, "block: new": {}, "block: all": {Existing: true}, "block: {}": {},
		"block: {audit: true}": {Audit: true}, "block: {existing: true, audit: true}": {true, true},
		"block:": {}} {
		s := Default()
		problems := parseSettings([]byte(text), s)
		if s.Block != want || len(problems) > 0 {
			t.Errorf("%s: %+v, %v", text, s.Block, problems)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte("policies: [a]\nblock: new\n"))
	f.Add([]byte("approvers: {teams: [a/b]}\nlimits: {depth: x}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Default()
		if len(parseSettings(data, s)) == 0 && s.Mode != ModeEnforce && s.Mode != ModeAdvisory {
			t.Errorf("accepted with mode %q", s.Mode)
		}
	})
}

func TestUser(t *testing.T) {
	s := &Settings{Identities: Identities{
		Users: map[string]Identity{"olga": {Username: "olga@x", Groups: []string{"b", "a"}, ClusterRoles: []string{"view"}}},
		Teams: map[string]Identity{"o/ops": {Username: "ignored", Groups: []string{"a", "ops"}}},
	}}
	r := s.Requester(report.User{Login: "olga", Teams: []string{"o/ops", "o/none"}}).Request(admission.Create)
	if r.UserInfo.Username != "olga@x" || !slices.Equal(r.UserInfo.Groups, []string{"a", "b", "ops", "system:authenticated"}) ||
		!slices.Equal(r.ClusterRoles, []string{"view"}) {
		t.Errorf("got %+v", r)
	}
	if r := s.Requester(report.User{Login: "bob"}).Request(admission.Create); r.UserInfo.Username != "bob" ||
		!slices.Equal(r.UserInfo.Groups, []string{"system:authenticated"}) {
		t.Errorf("got %+v", r)
	}
	if r := s.Requester(report.User{Login: "Olga"}); r.Info.Username != "olga@x" {
		t.Errorf("got %+v", r) // GitHub's names have no case
	}
	s.Identities.Users["olga"] = Identity{Username: "bob"}
	if r := s.Requester(report.User{Login: "bob"}); r.Info.Username != "" {
		t.Errorf("got %+v", r) // bob of the cluster is olga
	}
	s.Identities.Users["bob"] = Identity{Username: "system:serviceaccount:ci:bob"}
	if r := s.Requester(report.User{Login: "bob"}).Request(admission.Create); !slices.Equal(r.UserInfo.Groups,
		[]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:ci"}) {
		t.Errorf("got %+v", r)
	}
}
