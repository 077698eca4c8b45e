package roots

import (
	"strings"
	"testing"
)

func TestVariableFolder(t *testing.T) {
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"./apps/web/${ENVIRONMENT}/base", "apps/web/dev/base", true},
		{"apps/${A}-${B:=x}", "apps/a-b", true},
		{"/${ALL}", "apps/web", true}, // a variable may hold slashes
		{"./apps/web/${ENVIRONMENT}/base", "apps/web/dev", false},
		{"./apps.d/${X}", "appsxd/a", false},
		{"apps/web", "apps/web", false}, // it has none, so that it is known who deploys it
		{"${" + strings.Repeat("x", maxVariablePath) + "}", "apps", false},
	} {
		folder := variableFolder(c.path)
		if got := folder != nil && folder.MatchString(c.folder); got != c.want {
			t.Errorf("%.40s, %s: %t", c.path, c.folder, got)
		}
	}
}
