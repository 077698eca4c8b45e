package helm

import (
	"bytes"
	"path"
	"regexp"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Mentions reports whether a template of a chart, or of a dependency, contains a word. If values is set, other files
// count, too, except documentation.
func (c *Chart) Mentions(word string, values bool) bool {
	return mentions(c.chart, []byte(word), values)
}

func mentions(c *chart.Chart, word []byte, values bool) bool {
	for _, f := range c.Templates {
		if containsWord(f.Data, word) {
			return true
		}
	}
	if values {
		for _, f := range c.Raw {
			if path.Ext(f.Name) != ".md" && containsWord(f.Data, word) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return mentions(d, word, values) })
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
	return usesWhole(c.chart, regexp.MustCompile(`\.`+quoted+`(?:[^.A-Za-z0-9_]|\.[^A-Za-z_]|$)|["`+"`"+`]`+quoted+`["`+"`"+`]`))
}

func usesWhole(c *chart.Chart, whole *regexp.Regexp) bool {
	return slices.ContainsFunc(c.Templates, func(f *common.File) bool { return whole.Match(f.Data) }) ||
		slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return usesWhole(d, whole) })
}
