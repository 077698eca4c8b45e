package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const typesHeader = `# The types of Kubernetes 1.%d to 1.%d: made by generate from api/openapi-spec/swagger.json and
# pkg/generated/openapi/zz_generated.openapi.go of k8s.io/kubernetes v1.%d.0 to v1.%d.0, Copyright The Kubernetes Authors,
# Apache License 2.0 (https://www.apache.org/licenses/LICENSE-2.0). Do not edit.
`

// schema is as much of a description as the table has.
type schema struct {
	Ref                  string                                  `json:"$ref"`
	Type                 string                                  `json:"type"`
	Format               string                                  `json:"format"`
	Items                *schema                                 `json:"items"`
	AdditionalProperties *schema                                 `json:"additionalProperties"`
	Properties           map[string]*schema                      `json:"properties"`
	Required             []string                                `json:"required"`
	Kinds                []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// lines are those of the table below one type, or the kinds, with the minor versions that have each.
type lines map[string][]int

// types writes the table of Kubernetes' own types from the OpenAPI descriptions in the module k8s.io/kubernetes. The
// enumerations are left out of the published descriptions; they are read from the Go code of the same module that makes
// them (pkg/generated/openapi).
func types(first, last int) error {
	kinds, all := lines{}, map[string]lines{}
	err := minors("k8s.io/kubernetes@v1.%d.0", first, last, func(minor int, dir string) error {
		return readTypes(minor, dir, kinds, all)
	})
	if err != nil {
		return err
	}
	fmt.Printf(typesHeader, first, last, first, last)
	fmt.Printf("versions %d %d\n", first, last)
	kinds.print("kind ", first, last)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Println("type " + name)
		all[name].print(" ", first, last)
	}
	return nil
}

// print writes lines, with the ranges of versions where not all have one.
func (l lines) print(indent string, first, last int) {
	for _, text := range slices.Sorted(maps.Keys(l)) {
		at := l[text]
		var ranges []string
		for i := 0; i < len(at); {
			from := at[i]
			for i++; i < len(at) && at[i] == at[i-1]+1; i++ {
			}
			ranges = append(ranges, fmt.Sprintf("%d-%d", from, at[i-1]))
		}
		if len(ranges) == 1 && ranges[0] == fmt.Sprintf("%d-%d", first, last) {
			ranges = nil
		} else {
			text += " " + strings.Join(ranges, ",")
		}
		fmt.Println(indent + text)
	}
}

// readTypes adds what one version has.
func readTypes(minor int, dir string, kinds lines, types map[string]lines) error {
	data, err := os.ReadFile(filepath.Join(dir, "api/openapi-spec/swagger.json"))
	if err != nil {
		return err
	}
	var spec struct {
		Definitions map[string]*schema `json:"definitions"`
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return err
	}
	enums, err := readEnums(filepath.Join(dir, "pkg/generated/openapi/zz_generated.openapi.go"))
	if err != nil {
		return err
	}
	t := &table{minor: minor, definitions: spec.Definitions, enums: enums, types: types, done: map[string]bool{}}
	for name, d := range spec.Definitions {
		for _, k := range d.Kinds {
			if len(d.Kinds) > 1 || d.Properties["kind"] == nil {
				continue // what every group has: DeleteOptions, WatchEvent
			}
			line := strings.TrimPrefix(k.Group+"/", "/") + k.Version + " " + k.Kind + " " + short(name)
			kinds[line] = append(kinds[line], minor)
			t.add(name)
		}
	}
	return nil
}

var (
	function = regexp.MustCompile(`^func schema_k8sio_api_([a-z]+)_(v\w+?)_(\w+)\(`)
	property = regexp.MustCompile(`^\t{5}"(\w+)": \{$`)
	enum     = regexp.MustCompile(`^\t+Enum: +\[\]interface\{\}\{(.*?)\}`)
)

// readEnums returns the values of the fields that have but some, by type and field.
func readEnums(file string) (map[string][]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	enums := map[string][]string{}
	name, field := "", ""
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\n")
		if bytes.HasPrefix(line, []byte("func ")) {
			name = ""
			if m := function.FindSubmatch(line); m != nil {
				name = fmt.Sprintf("%s.%s.%s", m[1], m[2], m[3])
			}
		} else if m := property.FindSubmatch(line); m != nil {
			field = string(m[1])
		} else if m := enum.FindSubmatch(line); m != nil && name != "" {
			var values []string
			if err := json.Unmarshal(fmt.Appendf(nil, "[%s]", m[1]), &values); err != nil {
				return nil, fmt.Errorf("%s %s: %w", name, field, err)
			}
			for i, v := range values {
				values[i] = strings.ReplaceAll(v, " ", "+") // a line is made of words
			}
			slices.Sort(values)
			enums[name+" "+field] = values
		}
	}
	return enums, nil
}

// table collects the types of one version that are reached from its kinds.
type table struct {
	minor       int
	definitions map[string]*schema
	enums       map[string][]string
	types       map[string]lines
	done        map[string]bool
}

func (t *table) add(name string) {
	if t.done[name] {
		return
	}
	t.done[name] = true
	d := t.definitions[name]
	into := t.types[short(name)]
	if into == nil {
		into = lines{}
		t.types[short(name)] = into
	}
	for field, s := range d.Properties {
		text := field + " " + t.form(s, t.enums[short(name)+" "+field])
		if slices.Contains(d.Required, field) {
			text = field + " !" + strings.TrimPrefix(text, field+" ")
		}
		into[text] = append(into[text], t.minor)
	}
}

// form is what the table says of the values of a field.
func (t *table) form(s *schema, enum []string) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		switch short(name) {
		case "resource.Quantity":
			return "quantity"
		case "meta.v1.MicroTime":
			return "string" // it is read more strictly than its format says
		case "meta.v1.Time":
			return "time"
		}
		d := t.definitions[name]
		open := strings.HasPrefix(short(name), "meta.v1.") || strings.HasPrefix(short(name), "runtime.")
		if d.Properties == nil && (open || d.Type != "object") {
			return t.form(d, enum)
		}
		t.add(name)
		return "&" + short(name)
	}
	switch s.Type + ":" + s.Format {
	case "string:":
		if enum != nil {
			return "string(" + strings.Join(enum, "|") + ")"
		}
		return "string"
	case "string:byte":
		return "bytes"
	case "string:int-or-string":
		return "intstr"
	case "string:date-time":
		return "time"
	case "integer:int32", "integer:int64":
		return s.Format
	case "number:double":
		return "number"
	case "boolean:":
		return "bool"
	case "array:":
		return "[]" + t.form(s.Items, enum)
	case "object:":
		if s.AdditionalProperties != nil {
			return "{}" + t.form(s.AdditionalProperties, enum)
		}
		return "object"
	case ":":
		return "any"
	}
	log.Fatalf("1.%d: nothing is known of the type %q with the format %q", t.minor, s.Type, s.Format)
	return ""
}

// short is the name of a type without what all names start with.
func short(name string) string {
	for _, prefix := range []string{"io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.api.",
		"io.k8s.apimachinery.pkg.", "io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}
