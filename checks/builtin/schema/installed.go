package schema

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// installsFlux lists the groups and kinds that fluxVersion reads.
var installsFlux = [][2]string{
	{"apiextensions.k8s.io", "CustomResourceDefinition"},
	{"source.toolkit.fluxcd.io", "GitRepository"}, {"source.toolkit.fluxcd.io", "OCIRepository"},
	{"fluxcd.controlplane.io", "FluxInstance"},
}

// installedFlux returns the lowest version of Flux that declared objects install; empty if none says one. It reads the
// output of flux install, a source of Flux's manifests with a tag (https://fluxcd.io/flux/installation/configuration/),
// and the operator's object (https://fluxcd.control-plane.io/operator/fluxinstance/#distribution-version). It caches
// the answer.
func (s *Schemas) installedFlux(ctx context.Context) string {
	if known := s.flux.Load(); known != nil {
		return *known
	}
	lowest := ""
	for _, kind := range installsFlux {
		for _, o := range s.declared(ctx, kind[0], kind[1], "") {
			found := fluxVersion(o)
			if _, ok := release(found); ok && (lowest == "" || before(found, lowest)) {
				lowest = found
			}
		}
	}
	if ctx.Err() == nil {
		s.flux.Store(&lowest)
	}
	return lowest
}

func fluxVersion(o map[string]any) string {
	text := func(pointer string) string {
		s, _ := jsonpointer.At(o, pointer).(string)
		return s
	}
	url := strings.TrimSuffix(strings.TrimSuffix(text("/spec/url"), "/"), ".git")
	switch kind := o["kind"]; {
	case kind == "CustomResourceDefinition" && text("/metadata/labels/app.kubernetes.io~1part-of") == "flux":
		return text("/metadata/labels/app.kubernetes.io~1version")
	case kind == "GitRepository" && strings.HasSuffix(url, "github.com/fluxcd/flux2"),
		kind == "OCIRepository" && strings.HasSuffix(url, "/fluxcd/flux-manifests"):
		return text("/spec/ref/tag")
	case kind == "FluxInstance":
		return text("/spec/distribution/version")
	}
	return ""
}

var releases = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})($|[.+-])`)

// release parses the major and minor number of a version; ok is false for a range of several, and for other strings.
func release(version string) (numbers [2]int, ok bool) {
	m := releases.FindStringSubmatch(version)
	if m == nil {
		return numbers, false
	}
	numbers[0], _ = strconv.Atoi(m[1])
	numbers[1], _ = strconv.Atoi(m[2])
	return numbers, true
}

// before reports whether a version is certainly of an earlier release than another one.
func before(version, other string) bool {
	a, ok := release(version)
	b, known := release(other)
	return ok && known && cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0
}
