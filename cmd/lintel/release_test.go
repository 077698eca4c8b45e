package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the release is called in .goreleaser.yaml is what deploy/README.md and the action fetch, and what the workflow pins is what
// "make release-check" tries.
func TestReleaseNames(t *testing.T) {
	top := filepath.Join("..", "..")
	var release struct {
		Builds []struct {
			Goos, Goarch []string
			Env          []string
		}
		Archives []struct {
			NameTemplate    string   `yaml:"name_template"`
			Formats         []string `yaml:"formats"`
			FormatOverrides []struct {
				Goos    string
				Formats []string
			} `yaml:"format_overrides"`
		}
		Checksum struct {
			NameTemplate string `yaml:"name_template"`
		}
		Signs []struct{ Signature string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(top, ".goreleaser.yaml"))), &release); err != nil {
		t.Fatal(err)
	}
	if len(release.Builds) != 1 || len(release.Archives) != 1 || len(release.Signs) != 1 {
		t.Fatalf("%d builds, %d archives, %d signatures", len(release.Builds), len(release.Archives), len(release.Signs))
	}
	published := map[string]bool{release.Checksum.NameTemplate: true}
	published[strings.Replace(release.Signs[0].Signature, "${artifact}", release.Checksum.NameTemplate, 1)] = true
	archive := release.Archives[0]
	for _, system := range release.Builds[0].Goos {
		format := archive.Formats[0]
		for _, o := range archive.FormatOverrides {
			if o.Goos == system {
				format = o.Formats[0]
			}
		}
		for _, machine := range release.Builds[0].Goarch {
			name := strings.NewReplacer("{{ .Os }}", system, "{{ .Arch }}", machine).Replace(archive.NameTemplate)
			published[name+"."+format] = true
		}
	}
	if len(published) != 8 {
		t.Errorf("published are %v", published)
	}
	readme := readFile(t, filepath.Join(top, "deploy", "README.md"))
	fetched := regexp.MustCompile(`\$from/(\S+)`).FindAllStringSubmatch(readme, -1)
	if len(fetched) != 3 {
		t.Errorf("deploy/README.md fetches %v", fetched)
	}
	for _, m := range fetched {
		if !published[m[1]] {
			t.Errorf("deploy/README.md fetches %s, which no release has", m[1])
		}
	}
	for _, system := range []string{"linux", "darwin"} { // as install.sh makes the name
		for _, machine := range []string{"amd64", "arm64"} {
			if name := "lintel_" + system + "_" + machine + ".tar.gz"; !published[name] {
				t.Errorf("the action fetches %s, which no release has", name)
			}
		}
	}

	version := regexp.MustCompile(`(?m)^GORELEASER_VERSION \?= (v\S+)$`).FindStringSubmatch(readFile(t, filepath.Join(top, "Makefile")))
	workflow := readFile(t, filepath.Join(top, ".github", "workflows", "release.yml"))
	if version == nil || !strings.Contains(workflow, "version: "+version[1]+" ") {
		t.Errorf("the workflow does not run goreleaser %v", version)
	}
	for _, m := range regexp.MustCompile(`(?m)uses: (\S+)(.*)$`).FindAllStringSubmatch(workflow, -1) {
		if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(m[1]) || !regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`).MatchString(m[2]) {
			t.Errorf("%s is not pinned by its commit, with the version beside it", m[1])
		}
	}
}

// The archives have the manual and the completions, and the cask installs each of them.
func TestReleaseFiles(t *testing.T) {
	program, err := exec.LookPath("lintel")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "deploy", "release-files"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(target string) string {
		t.Helper()
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "bash", script, program, target)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return filepath.Join(dir, "bin", "release")
	}
	dir := write(runtime.GOOS + "_" + runtime.GOARCH)
	if entries, err := os.ReadDir(write("plan9_mips")); err == nil {
		t.Errorf("a program of another machine wrote %v", entries)
	}
	written := map[string]bool{}
	for _, pattern := range []string{"man/*", "completions/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			short, _ := filepath.Rel(dir, name)
			if written[filepath.ToSlash(short)] = true; len(readFile(t, name)) < 100 {
				t.Errorf("%s is empty", short)
			}
		}
	}
	var release struct {
		Archives []struct {
			Files []struct{ Src, Dst string }
		}
		Casks []struct {
			Manpages    []string
			Completions map[string]string
		} `yaml:"homebrew_casks"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join("..", "..", ".goreleaser.yaml"))), &release); err != nil {
		t.Fatal(err)
	}
	packed := map[string]bool{}
	for _, f := range release.Archives[0].Files {
		packed[f.Src+" "+f.Dst] = true
	}
	for _, want := range []string{"bin/release/man/* man", "bin/release/completions/* completions"} {
		if !packed[want] {
			t.Errorf("the archives do not have %q: %v", want, packed)
		}
	}
	cask := release.Casks[0]
	installed := slices.Concat(cask.Manpages, slices.Collect(maps.Values(cask.Completions)))
	for _, name := range installed {
		if !written[name] {
			t.Errorf("the cask has %s, which no archive has", name)
		}
		delete(written, name)
	}
	delete(written, "completions/lintel.ps1") // casks know no PowerShell
	if len(written) > 0 {
		t.Errorf("the cask lacks %v", slices.Sorted(maps.Keys(written)))
	}
}
