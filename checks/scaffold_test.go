package checks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func check(t testing.TB, r *treetest.Repo, c report.Change) *report.Report {
	t.Helper()
	c.GitDir, c.Now = r.GitDir, now
	var checker checks.Checker
	rep, err := checker.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// sayings returns the message of a finding, and its causes with their places.
func sayings(r *report.Report, f report.Finding) string {
	text := f.Message
	for _, c := range r.Causes {
		if slices.Contains(f.Causes, c.ID) {
			text += " (" + report.Problem{Path: c.Path, Line: c.Line, Message: c.Sentence}.String() + ")"
		}
	}
	return text
}

// lines describes findings in short: result, place, field and other details.
func lines(r *report.Report) []string {
	list := []string{}
	for _, f := range r.Findings {
		line := string(f.Result) + " " + f.Operation + " " + f.Origin.Path + " " + f.Rule + " " + f.Field
		if !f.New {
			line += " old"
		}
		if f.Exemption != nil {
			line += " " + string(f.Exemption.State)
		}
		list = append(list, line)
	}
	return list
}

func problems(list []report.Problem) string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

const pods = `
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pods}
spec:
  rules:
  - name: net
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: No host network.
      pattern: {spec: {=(hostNetwork): false}}
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: Name a version.
      pattern: {spec: {containers: [{image: "!*:latest"}]}}
`

func pod(name, spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + spec
}

// bare switches the api-server check off in the settings of an archive. Its bare Pods change in a way that an API
// server rejects, and the tests look for findings of policies only.
func bare(archive string) string {
	const file, off = "-- .lintel.yaml --\n", "checks: {api-server: \"off\"}\n"
	if before, after, ok := strings.Cut(archive, file); ok {
		return before + file + off + after
	}
	return archive + file + off
}

func exception(name, spec string) string {
	return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: " + name + ", namespace: ops}\nspec: " +
		spec + "\n"
}

func celException(name, spec string) string {
	return "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: " + name +
		", namespace: ops}\nspec: " + spec + "\n"
}

// sample is the sample repository with the change that breaks two policies.
func sample(t testing.TB) (r *treetest.Repo, base, head string) {
	t.Helper()
	r = treetest.New(t)
	for i, dir := range []string{"../testdata/sample", "../testdata/sample-change"} {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, p)
			if err != nil {
				return err
			}
			r.Write(filepath.ToSlash(name), string(data))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			base = r.Snapshot()
		} else {
			head = r.Snapshot()
		}
	}
	return r, base, head
}
