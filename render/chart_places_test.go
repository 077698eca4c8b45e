package render_test

import (
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
)

// A template may ask for fields of Chart.yaml and for files that there are none of.
func TestPlacesOfWhatIsNotThere(t *testing.T) {
	r := renderReleases(t, fluxRepo+`
-- chart/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: config
data:
  chart: {{ index .Chart "" | toString | quote }}
  release: {{ index .Release "" | toString | quote }}
  value: {{ index .Values "" | toString | quote }}
  file: {{ .Files.Get "none.txt" | quote }}
  beside: {{ .Files.Get "../flux/app.yaml" | quote }}
`, render.Config{})
	if got := r.messages(); got != "" {
		t.Fatal(got)
	}
	for _, name := range []string{"chart", "release", "value", "file", "beside"} {
		if p := find(t, r.one, "ConfigMap config").Origin("/data/" + name); p.How != origin.Enclosing {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
