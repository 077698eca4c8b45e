package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the release is called in .goreleaser.yaml is what the README and the action fetch, and what the workflow pins is what
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
	readme := readFile(t, filepath.Join(top, "README.md"))
	fetched := regexp.MustCompile(`\$from/(\S+)`).FindAllStringSubmatch(readme, -1)
	if len(fetched) != 3 {
		t.Errorf("the README fetches %v", fetched)
	}
	for _, m := range fetched {
		if !published[m[1]] {
			t.Errorf("the README fetches %s, which no release has", m[1])
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
