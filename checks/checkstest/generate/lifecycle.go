package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const lifecycleHeader = `# When kinds of Kubernetes were introduced, deprecated and removed, and what comes in their place: made by generate from
# the files zz_generated.prerelease-lifecycle.go of k8s.io/api v0.%d.0 to v0.%d.0, Copyright The Kubernetes Authors, Apache
# License 2.0 (https://www.apache.org/licenses/LICENSE-2.0). Do not edit.
`

// kind is what the methods of one say.
type kind struct{ Introduced, Deprecated, Removed, Replacement string }

// lifecycle writes when the kinds of Kubernetes were introduced, deprecated and removed, from the methods that k8s.io/api
// has for that. A version of it has the kinds of its time and some of earlier ones; the newest that has a kind counts.
func lifecycle(first, last int) error {
	kinds := map[string]kind{}
	err := minors("k8s.io/api@v0.%d.0", first, last, func(_ int, dir string) error { return readLifecycles(dir, kinds) })
	if err != nil {
		return err
	}
	fmt.Printf(lifecycleHeader, first, last)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[name]; k.Deprecated != "-" || k.Removed != "-" {
			fmt.Println(name, k.Introduced, k.Deprecated, k.Removed, k.Replacement)
		}
	}
	return nil
}

var (
	groupName = regexp.MustCompile(`(?m)^const GroupName = "(.*)"`)
	method    = regexp.MustCompile(`(?s)func \(in \*(\w+)\) APILifecycle(\w+)\(\).*?\n\treturn (.*?)\n`)
	version   = regexp.MustCompile(`^(\d+), (\d+)$`)
	gvk       = regexp.MustCompile(`Group: "(.*?)", Version: "(.*?)", Kind: "(.*?)"`)
)

func readLifecycles(dir string, kinds map[string]kind) error {
	files, err := filepath.Glob(filepath.Join(dir, "*/*/zz_generated.prerelease-lifecycle.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		register, err := os.ReadFile(filepath.Join(filepath.Dir(file), "register.go"))
		if err != nil {
			return err
		}
		group := groupName.FindSubmatch(register)
		if group == nil {
			return fmt.Errorf("%s names no group", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(string(group[1])+"/"+filepath.Base(filepath.Dir(file)), "/")
		found := map[string]kind{}
		for _, m := range method.FindAllStringSubmatch(string(data), -1) {
			k, ok := found[m[1]]
			if !ok {
				k = kind{"-", "-", "-", "-"}
			}
			switch value := words(m[3]); m[2] {
			case "Introduced":
				k.Introduced = value
			case "Deprecated":
				k.Deprecated = value
			case "Removed":
				k.Removed = value
			case "Replacement":
				k.Replacement = strings.TrimSuffix(value, "List") // as IngressClass has it
			}
			found[m[1]] = k
		}
		for name, k := range found {
			if !strings.HasSuffix(name, "List") && name != "WatchEvent" {
				kinds[at+" "+name] = k
			}
		}
	}
	return nil
}

// words are what a method returns, as the table has it.
func words(value string) string {
	if m := version.FindStringSubmatch(value); m != nil {
		return m[1] + "." + m[2]
	}
	if m := gvk.FindStringSubmatch(value); m != nil {
		return strings.TrimPrefix(m[1]+"/"+m[2], "/") + " " + m[3]
	}
	log.Fatalf("nothing is known of what %q is", value)
	return ""
}
