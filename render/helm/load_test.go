package helm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/helm"
)

func TestDependencies(t *testing.T) {
	sub := tree("Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "values.yaml", "a: 1\nexports: {d: {got: 7}}\n",
		"templates/s.yaml", "kind: ConfigMap\nname: {{ .Chart.Name }}\na: {{ .Values.a }}\ng: {{ .Values.global.g }}\n")
	declared := chartYAML + `dependencies:
- {name: sub, version: 1.x, repository: "https://charts.example", condition: sub.enabled, import-values: [d]}
- name: sub
  version: 1.x
  repository: "https://charts.example"
  alias: other
  tags: [extra]
`
	base := []string{"Chart.yaml", declared, "values.yaml", "other: {a: 2}\nglobal: {g: x}\n", "Chart.lock",
		"dependencies:\n- {name: sub, version: 1.0.0, repository: https://charts.example}\ndigest: sha256:x\n",
		"templates/t.yaml", "kind: Top\ngot: {{ .Values.got }}\n"}
	packed := app(t, append(slices.Clone(base), "charts/sub-1.0.0.tgz", pack(t, "sub", sub))...)
	folder := slices.Clone(base)
	for _, f := range sub {
		folder = append(folder, "charts/sub/"+f.Name, string(f.Data))
	}
	bare := app(t, base...)
	missing := bare.Missing()
	if len(missing) != 2 || missing[0].Line != 5 || missing[1].Line != 6 || missing[1].Key() != "other" ||
		missing[0].LockedVersion != "1.0.0" || missing[0].Repository != "https://charts.example" {
		t.Errorf("missing: %+v", missing)
	}
	_, err := bare.Render(t.Context(), helm.Options{Name: "rel"})
	if e := cause(t, err); e.Cause != helm.CauseMissing || !slices.Equal(e.Names, []string{"sub", "other"}) || e.Line != 5 {
		t.Errorf("missing dependencies are reported as %+v", e)
	}
	fetched, err := helm.LoadPackage(sub, helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	with, err := bare.With(map[string]*helm.Chart{"sub": fetched, "other": fetched})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := bare.With(map[string]*helm.Chart{"sub": fetched, "other": fetched}); err != nil || same != with {
		t.Errorf("the same dependencies make another chart, whose templates are parsed again: %v", err)
	}
	if other, err := bare.With(map[string]*helm.Chart{"sub": fetched}); err != nil || other == with {
		t.Errorf("other dependencies make the same chart: %v", err)
	}
	want := render(t, packed, helm.Options{}).Text()
	for _, part := range []string{"name: sub\na: 1\ng: x", "name: other\na: 2\ng: x", "got: 7"} {
		if !strings.Contains(want, part) {
			t.Errorf("%q is not in\n%s", part, want)
		}
	}
	for name, c := range map[string]*helm.Chart{"folder": app(t, folder...), "with": with} {
		if got := render(t, c, helm.Options{}).Text(); got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
	}
	in, err := with.Input(helm.Options{Name: "rel"})
	if err != nil {
		t.Fatal(err)
	}
	if owner, file := in.Source("app/charts/other/templates/s.yaml"); owner != fetched || file != "templates/s.yaml" {
		t.Errorf("the source of a fetched template is %v %q", owner, file)
	}
	off := render(t, with, helm.Options{Values: values(t, "sub: {enabled: false}\ntags: {extra: false}\n")})
	if got := off.Text(); strings.Contains(got, "name:") {
		t.Errorf("what is off is rendered:\n%s", got)
	}
	if _, err := bare.With(map[string]*helm.Chart{"else": fetched}); err == nil {
		t.Error("a dependency that is not declared is taken")
	}
	if again := render(t, with, helm.Options{}).Text(); again != want {
		t.Error("a chart changed by being rendered")
	}
}

// TestLockOutOfSync has a dependency whose locked version is out of the requested range, as if only Chart.yaml was
// changed.
func TestLockOutOfSync(t *testing.T) {
	sub := func(version string) *helm.Chart {
		c, err := helm.Load(tree("Chart.yaml", "apiVersion: v2\nname: sub\nversion: "+version+"\n"), helm.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, test := range []struct{ asked, version, want string }{
		{"2.0.0", "1.0.0", `needs version 2.0.0 of the dependency "db", but found version 1.0.0, the version in ` +
			`Chart.lock: Chart.yaml and Chart.lock are out of sync`},
		{"^2", "2.1.0", ""},
		{">=1.0.0", "1.0.0-rc.1", `needs version >=1.0.0 of the dependency "db", but found version 1.0.0-rc.1`},
		{">=1.0.0", "1.1.0-rc.1", ""},
		{"1.x", "1.0.0+build", ""},
	} {
		c := app(t, "Chart.yaml", chartYAML+"dependencies:\n- {name: sub, alias: db, version: '"+test.asked+
			"', repository: 'https://charts.example'}\n", "Chart.lock",
			"dependencies:\n- {name: sub, version: 1.0.0, repository: 'https://charts.example'}\n")
		_, err := c.With(map[string]*helm.Chart{"db": sub(test.version)})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s for %s: %v", test.version, test.asked, err)
		case test.want != "" && err == nil:
			t.Errorf("%s for %s: no error", test.version, test.asked)
		case test.want != "":
			if e := cause(t, err); e.Message != test.want || e.File != "Chart.yaml" || e.Line != 5 {
				t.Errorf("got %+v", e)
			}
		}
	}
}

// TestHiddenFilesInChartsAreNotUnpacked has files that programs leave next to a packed subchart (macOS: "._x.tgz"). Helm does not unpack
// them.
func TestHiddenFilesInChartsAreNotUnpacked(t *testing.T) {
	sub := pack(t, "sub", tree("Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "templates/s.yaml", "kind: S"))
	files := tree("Chart.yaml", chartYAML, "charts/sub-1.0.0.tgz", sub, "charts/._sub-1.0.0.tgz", "no chart", "charts/_x.tgz", "")
	c, err := helm.LoadPackage(files, helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := render(t, c, helm.Options{}).Text(); !strings.Contains(got, "kind: S") {
		t.Errorf("the subchart is not in\n%s", got)
	}
}

func TestRequirementsOfV1(t *testing.T) {
	c := app(t, "Chart.yaml", "name: old\nversion: 0.1.0\n",
		"requirements.yaml", "dependencies:\n- name: d\n  version: 1.0.0\n  repository: file://../d\n")
	missing := c.Missing()
	if len(missing) != 1 || missing[0].File != "requirements.yaml" || missing[0].Line != 2 ||
		missing[0].Repository != "file://../d" {
		t.Errorf("missing: %+v", missing)
	}
}

func TestIgnore(t *testing.T) {
	files := tree("Chart.yaml", chartYAML, ".helmignore", "*.bak\nskip/\n/secret.txt\n",
		"templates/a.yaml", "{{ range $n, $_ := .Files }}# {{ $n }}\n{{ end }}kind: A",
		"templates/b.yaml.bak", "{{ broken", "skip/x", "", "docs/secret.txt", "", "secret.txt", "")
	c := app(t, slices.Concat([]string{}, flat(files))...)
	if got := render(t, c, helm.Options{}).Files["app/templates/a.yaml"]; got != "# .helmignore\n# docs/secret.txt\nkind: A" {
		t.Errorf("got %q", got)
	}
	if _, err := helm.LoadPackage(files, helm.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestLoadErrors(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  helm.Cause
	}{
		"no Chart.yaml": {[]string{"values.yaml", "a: 1"}, helm.CauseInvalid},
		"path":          {[]string{"Chart.yaml", "apiVersion: v2\nname: ../x\nversion: 1.0.0\n"}, helm.CauseInvalid},
		"version":       {[]string{"Chart.yaml", "apiVersion: v2\nname: x\nversion: new\n"}, helm.CauseInvalid},
		"broken values": {[]string{"Chart.yaml", chartYAML, "values.yaml", "a: [s3cret\n"}, helm.CauseInvalid},
		"broken values below": {[]string{"Chart.yaml", chartYAML, "charts/s/Chart.yaml", chartYAML,
			"charts/s/values.yaml", "a: *s3cret\n"}, helm.CauseInvalid},
		"values that are a text": {[]string{"Chart.yaml", chartYAML, "charts/s/Chart.yaml", chartYAML,
			"charts/s/values.yaml", "s3cret\n"}, helm.CauseInvalid},
		"file name":  {[]string{"Chart.yaml", chartYAML, "templates/../../x", ""}, helm.CauseInvalid},
		"not packed": {[]string{"Chart.yaml", chartYAML, "charts/x.tgz", "no"}, helm.CauseInvalid},
		"bad ignore": {[]string{"Chart.yaml", chartYAML, ".helmignore", "a/**/b"}, helm.CauseInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm.Load(tree(test.files...), helm.Limits{})
			if err == nil {
				t.Fatal("no error")
			}
			if e := cause(t, err); e.Cause != test.want || strings.Contains(e.Error(), "s3cret") || strings.Contains(e.Message, "\n") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestFilesThatShareBytesAreDistinguished has files that share one slice of bytes, as a cache of blobs returns them.
func TestFilesThatShareBytesAreDistinguished(t *testing.T) {
	text := []byte("kind: A\n")
	both := func(chart string) []helm.File {
		return append(tree("Chart.yaml", chart), helm.File{Name: "templates/a.yaml", Data: text},
			helm.File{Name: "templates/b.yaml", Data: text})
	}
	below, err := helm.Load(both("apiVersion: v2\nname: sub\nversion: 1.0.0\n"), helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	above, err := helm.Load(both(chartYAML+"dependencies: [{name: sub, version: 1.x, repository: 'https://a.example'}]\n"),
		helm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := above.With(map[string]*helm.Chart{"sub": below})
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Input(helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range in.Templates {
		owner, want := above, template.Name[len("app/"):]
		if rest, ok := strings.CutPrefix(want, "charts/sub/"); ok {
			owner, want = below, rest
		}
		if from, file := in.Source(template.Name); from != owner || file != want {
			t.Errorf("%s is said to be %s of %s", template.Name, file, from.Name())
		}
	}
}
