package helm

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Contains reports whether is returns true for any file of a chart or of a chart in it: templates, definitions, values
// and files that templates may read. Documentation is left out.
func (c *Chart) Contains(is func(text []byte) bool) bool {
	return anyFile(c.chart, func(c *chart.Chart) []*common.File { return c.Raw }, func(f *common.File) bool {
		// Files in charts/ belong to other charts, which may be packed.
		return !strings.HasPrefix(f.Name, "charts/") && path.Ext(f.Name) != ".md" && is(f.Data)
	})
}

// AnyTemplate reports whether is returns true for a template of a chart, or of a dependency.
func (c *Chart) AnyTemplate(is func(text []byte) bool) bool {
	return anyFile(c.chart, func(c *chart.Chart) []*common.File { return c.Templates },
		func(f *common.File) bool { return is(f.Data) })
}

// anyFile reports whether is returns true for one of the files of a chart, or of a dependency.
func anyFile(c *chart.Chart, files func(*chart.Chart) []*common.File, is func(*common.File) bool) bool {
	return slices.ContainsFunc(files(c), is) ||
		slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return anyFile(d, files, is) })
}

// Mentions reports whether a template of a chart, or of a dependency, contains a word. If values is set, other files
// count, too, except documentation.
func (c *Chart) Mentions(word string, values bool) bool {
	is := func(text []byte) bool { return containsWord(text, []byte(word)) }
	return c.AnyTemplate(is) || values && c.Contains(is)
}

func containsWord(text, word []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !letter(text[i-1])) && (end == len(text) || !letter(text[end])) {
			return true
		}
		from = i + 1
	}
}

func letter(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// UsesWhole reports whether a template of a chart, or of a dependency, may use a map of a given name as a whole. Then
// its text does not show which keys are read. This is so if the name has no field after it, or is in a text.
func (c *Chart) UsesWhole(name string) bool {
	quoted := regexp.QuoteMeta(name)
	return c.AnyTemplate(regexp.MustCompile(`\.` + quoted + `(?:[^.A-Za-z0-9_]|\.[^A-Za-z_]|$)|["` + "`" + `]` + quoted + `["` + "`" + `]`).Match)
}
