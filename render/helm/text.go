package helm

import (
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Contains reports whether is reports true of the text of one of the files of a chart or of a chart that it has in it:
// templates, definitions, values and what templates may read. Prose is left out.
func (c *Chart) Contains(is func(text []byte) bool) bool { return contains(c.chart, is) }

func contains(c *chart.Chart, is func(text []byte) bool) bool {
	return slices.ContainsFunc(c.Raw, func(f *common.File) bool {
		// What is in charts/ is a chart of its own, which may be packed.
		return !strings.HasPrefix(f.Name, "charts/") && path.Ext(f.Name) != ".md" && is(f.Data)
	}) || slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return contains(d, is) })
}
