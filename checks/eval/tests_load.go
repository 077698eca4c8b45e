package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/graph"
)

// testFile is one test file in work.
type testFile struct {
	*TestInput
	path   string
	rows   []report.TestRow
	errors []report.Problem

	coverage []report.RuleCoverage

	read  map[string][]rules.File // what was read so far: the tests of a file share policies
	visit func(*loaded)           // sees every test with its answers; may be nil

	secrets *mask.Values // takes those of the objects; nil: nobody does
}

func (f *testFile) name(p string) string {
	if f.Name != nil {
		return f.Name(p)
	}
	return p
}

func (f *testFile) problem(list ...policy.Problem) {
	errs, _ := rules.Problems(list)
	f.errors = append(f.errors, errs...)
}

// run runs the tests of the file. A panic in a test ends this file only.
func (f *testFile) run(ctx context.Context) {
	defer func() {
		if x := recover(); x != nil {
			message, _, _ := strings.Cut(fmt.Sprint(x), "\n")
			f.problem(policy.Problem{Path: f.name(f.path), Message: "the test could not be run: internal error: " + message})
		}
	}()
	data, err := fs.ReadFile(f.Files, f.path)
	if err != nil {
		f.problem(policy.Problem{Path: f.name(f.path), Message: "cannot be read: " + reason(err)})
		return
	}
	docs, problems := rules.File{Path: f.name(f.path), Data: data}.Documents()
	f.problem(problems...)
	if len(docs) == 0 && len(problems) == 0 {
		f.problem(policy.Problem{Path: f.name(f.path),
			Message: "holds no test: a test has apiVersion cli.kyverno.io/v1alpha1 and kind Test"})
	}
	for _, d := range docs {
		if d.APIVersion == "" { // Kyverno does not check this any further
			f.problem(d.Problem("", "the test has no apiVersion: write cli.kyverno.io/v1alpha1"))
			continue
		}
		var t test
		if problems := policy.Decode(d, &t); policy.HasErrors(problems) {
			f.problem(problems...)
			continue
		}
		c := f.load(d, t)
		c.answer(ctx)
		if f.visit != nil {
			f.visit(c)
		}
		for i := range t.Results {
			line, _ := d.Position(fmt.Sprintf("/results/%d", i))
			f.rows = append(f.rows, c.compare(f.name(f.path), line, &t.Results[i])...)
		}
		if len(t.Results) == 0 && f.Strict {
			f.problem(d.Problem("", "the test expects nothing: add results"))
		}
		if f.Coverage {
			for i := range c.policies {
				f.coverage = append(f.coverage, c.policies[i].coverage...)
			}
		}
	}
}

// loaded is a test with all files that it refers to.
type loaded struct {
	*testFile
	test
	doc      policy.Document
	reviewer *Reviewer
	policies []policyFile
	objects  []admission.Object
	answers  []answer
	patched  map[string][]admission.Object // files of patched objects
}

// answer is the result of one rule for one object.
type answer struct {
	engine.Result
	status report.Result
	object admission.Identity
}

func (f *testFile) load(d policy.Document, t test) *loaded {
	c := &loaded{testFile: f, test: t, doc: d, patched: map[string][]admission.Object{}}
	options := engine.Options{Now: f.Now}
	sources := c.sources("/policies", t.Policies)
	policies, problems := engine.CompilePolicies(rules.ForEngine(sources), options)
	f.problem(problems...)
	c.policies = policyFiles(sources, policies, problems)
	exceptions, problems := engine.CompileExceptions(rules.ForEngine(c.sources("/exceptions", t.Exceptions)), options)
	f.problem(problems...)
	cluster, problems := Declare(slices.Concat(c.sources("/clusterResources", t.ClusterResources),
		c.sources("/context", report.Filled(t.Context)), c.sources("/paramResources", t.ParamResources))...)
	f.problem(problems...)
	cluster.Secrets(f.secrets)
	cluster.Complete()
	values := t.Values
	if values == nil {
		for _, s := range c.sources("/variables", report.Filled(t.Variables)) {
			values, problems = ParseValues(s)
			f.problem(problems...)
		}
	}
	var user settings.Requester
	for _, s := range c.sources("/userinfo", report.Filled(t.UserInfo)) {
		user, problems = ParseUser(s)
		f.problem(problems...)
	}
	objects, problems := allObjects(c.sources("/resources", t.Resources)...)
	f.problem(problems...)
	seen := map[admission.Identity]bool{}
	for _, o := range objects {
		id := admission.IdentityOf(inDefault(o))
		if o["metadata"] != nil && !seen[id] {
			seen[id] = true
			c.objects = append(c.objects, o)
			f.secrets.Object(o)
		}
	}
	c.reviewer = NewReviewer(Setup{Policies: policies, Exceptions: exceptions, Cluster: cluster, Values: values,
		User: user, AnyNamespace: true})
	return c
}

// inDefault sets the namespace of an object without one to "default"; the kyverno command does so for all kinds.
func inDefault(o admission.Object) admission.Object {
	if meta, ok := o["metadata"].(map[string]any); ok && meta["namespace"] == nil {
		meta["namespace"] = "default"
	}
	return o
}

// sources reads files, and the manifests of folders, that a field of the test names.
func (c *loaded) sources(field string, paths []string) []rules.File {
	var out []rules.File
	for i, p := range paths {
		list, err := c.readPath(p)
		if err != nil {
			at := fmt.Sprintf("%s/%d", field, i)
			c.problem(c.doc.Problem(at, "%s: %s", p, reason(err)))
		}
		out = append(out, list...)
	}
	return out
}

var errRemote = errors.New("tests do not read from the network: add the file to the repository")

func (f *testFile) readPath(p string) ([]rules.File, error) {
	if strings.Contains(p, "://") {
		return nil, errRemote
	}
	at := path.Join(path.Dir(f.path), p)
	if path.IsAbs(p) {
		at = path.Clean(p)[1:]
	}
	if known, ok := f.read[at]; ok {
		return known, nil
	}
	info, err := fs.Stat(f.Files, at)
	if err != nil {
		return nil, err
	}
	names := []string{at}
	if info.IsDir() {
		names = nil
		entries, err := fs.ReadDir(f.Files, at)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && IsManifest(e.Name()) {
				names = append(names, path.Join(at, e.Name()))
			}
		}
	}
	var out []rules.File
	for _, n := range names {
		data, err := fs.ReadFile(f.Files, n)
		if err != nil {
			return nil, err
		}
		out = append(out, rules.File{Path: f.name(n), Data: data})
	}
	if f.read == nil {
		f.read = map[string][]rules.File{}
	}
	f.read[at] = out
	return out, nil
}

// IsManifest reports whether a file is read as part of a folder.
func IsManifest(name string) bool { return graph.IsManifestName(name) }

// reason returns why a file cannot be read, without its path on this machine.
func reason(err error) string {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the file does not exist"
	case errors.Is(err, fs.ErrInvalid):
		return "the path points outside the file system"
	case errors.As(err, &at):
		return at.Err.Error()
	}
	return err.Error()
}

// answer evaluates all policies for all objects.
func (c *loaded) answer(ctx context.Context) {
	for _, o := range c.objects {
		id := admission.IdentityOf(o)
		for _, r := range c.reviewer.Review(ctx, Review{Object: o}) {
			status := report.Result(r.Outcome)
			switch {
			case r.Tolerated && r.Enforce:
				status = report.Skip
			case r.Outcome == engine.Fail && r.Policy.Unscored:
				status = report.Warn
			}
			c.answers = append(c.answers, answer{r, status, id})
		}
	}
}
