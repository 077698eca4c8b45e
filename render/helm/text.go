package helm

import (
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Contains reports whether is returns true for any file of a chart or of a chart in it: templates, definitions, values
// and files that templates may read. Documentation is left out.
func (c *Chart) Contains(is func(text []byte) bool) bool { return contains(c.chart, is) }

func contains(c *chart.Chart, is func(text []byte) bool) bool {
	return slices.ContainsFunc(c.Raw, func(f *common.File) bool {
		// Files in charts/ belong to other charts, which may be packed.
		return !strings.HasPrefix(f.Name, "charts/") && path.Ext(f.Name) != ".md" && is(f.Data)
	}) || slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return contains(d, is) })
}
