package schema

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"
)

//go:generate sh -c "go run github.com/lintel-bot/lintel/checks/checkstest/generate lifecycle 20 37 > lifecycle.txt"

//go:embed lifecycle.txt
var ofKubernetes string

// others is the table of kinds of other projects. It is maintained by hand.
//
//go:embed lifecycle_others.txt
var others string

// row is the lifecycle of a kind. Versions are those of the project; "" means that there is none.
type row struct {
	project             string
	deprecated, removed string
	instead             string // replacement: "apps/v1 Deployment", or a phrase
	source              string // URL of the announcement; empty for Kubernetes itself
}

func (r row) kubernetes() bool { return r.project == "Kubernetes" }

var rows = sync.OnceValue(func() map[kindName]row {
	out := map[kindName]row{}
	for line := range strings.Lines(ofKubernetes) {
		if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
			out[kindName{w[0], w[1]}] = row{project: "Kubernetes", deprecated: dash(w[3]), removed: dash(w[4]),
				instead: dash(strings.Join(w[5:], " "))}
		}
	}
	for line := range strings.Lines(others) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		w := strings.Split(strings.TrimSpace(line), "\t")
		for name := range strings.SplitSeq(w[1], ",") {
			out[kindName{w[0], name}] = row{project: w[2], deprecated: dash(w[3]), removed: dash(w[4]), instead: dash(w[5]),
				source: dash(w[6])}
		}
	}
	return out
})

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// find returns the lifecycle of a kind, or of all kinds of its API version.
func find(apiVersion, name string) (row, bool) {
	r, ok := rows()[kindName{apiVersion, name}]
	if !ok {
		r, ok = rows()[kindName{apiVersion, "*"}]
	}
	return r, ok
}

// InLifecycle reports whether the kind of an object is known to be deprecated or removed.
func InLifecycle(object map[string]any) bool {
	_, ok := find(typeOf(object))
	return ok
}

// Removed returns a violation for an object whose kind the cluster no longer has. A kind with a declared definition
// exists, whatever its project announced.
func (s *Schemas) Removed(ctx context.Context, object map[string]any) []Violation {
	apiVersion, name := typeOf(object)
	if r, ok := find(apiVersion, name); ok && !r.kubernetes() {
		if r.removed == "" || s.declares(ctx, apiVersion, name) {
			return nil
		}
		has := ""
		if r.project == "Flux" {
			has = s.installedFlux(ctx)
		}
		switch {
		case before(has, r.removed):
			return nil
		case has != "":
			has = ", and this repository installs " + has
		}
		return tell("%s was removed in %s %s%s%s (%s)", of(apiVersion, name), r.project, r.removed, has,
			instead(r, apiVersion, name), r.source)
	}
	removed, ok := removedIn(apiVersion, name)
	if !ok {
		return nil
	}
	r, _ := find(apiVersion, name)
	switch {
	case s.minor == 0 && removed <= all().last:
		return tell("%s was removed in Kubernetes 1.%d%s", of(apiVersion, name), removed, instead(r, apiVersion, name))
	case s.minor >= removed:
		return tell("%s was removed in Kubernetes 1.%d, and the cluster has 1.%d%s", of(apiVersion, name), removed, s.minor,
			instead(r, apiVersion, name))
	}
	return nil
}

// Deprecated returns a violation for an object whose kind the cluster has, and that will be removed.
func (s *Schemas) Deprecated(ctx context.Context, object map[string]any) []Violation {
	apiVersion, name := typeOf(object)
	r, ok := find(apiVersion, name)
	if !ok || r.deprecated == "" || len(s.Removed(ctx, object)) > 0 {
		return nil
	}
	if !r.kubernetes() {
		return tell("%s is deprecated since %s %s%s%s (%s)", of(apiVersion, name), r.project, r.deprecated, until(r),
			instead(r, apiVersion, name), r.source)
	}
	since, _ := minorOf(r.deprecated)
	if since > cmp.Or(s.minor, all().last) {
		return nil
	}
	return tell("%s is deprecated since Kubernetes %s%s%s", of(apiVersion, name), r.deprecated, until(r),
		instead(r, apiVersion, name))
}

// removedIn returns the minor version of Kubernetes that removed a kind. The kinds of known versions take precedence
// over announcements.
func removedIn(apiVersion, name string) (minor int, ok bool) {
	if _, until, served := servedIn(apiVersion, name); served {
		return until + 1, until < all().last
	}
	r, ok := find(apiVersion, name)
	if !ok || r.removed == "" {
		return 0, false
	}
	minor, ok = minorOf(r.removed)
	return minor, ok && minor <= all().first // otherwise the known versions would have it
}

func typeOf(object map[string]any) (apiVersion, name string) {
	apiVersion, _ = object["apiVersion"].(string)
	name, _ = object["kind"].(string)
	return apiVersion, name
}

func of(apiVersion, name string) string { return name + " in " + apiVersion }

// until returns the end of a message that says when a kind will be removed.
func until(r row) string {
	if r.removed == "" {
		return ""
	}
	return ", and is removed in " + r.removed
}

// instead returns the end of a message that names the replacement of a kind.
func instead(r row, apiVersion, name string) string {
	words := r.instead
	for range 3 { // the replacement may be removed, too
		at, kind, _ := strings.Cut(words, " ")
		if _, gone := removedIn(at, kind); !gone {
			break
		}
		next, _ := find(at, kind)
		words = next.instead
	}
	if words == "" && r.kubernetes() {
		words = newest(apiVersion, name)
	}
	at, kind, ok := strings.Cut(words, " ")
	switch {
	case words == "":
		return ""
	case ok && strings.Contains(at, "/"):
		return fmt.Sprintf(": write %s in %s", kind, at)
	}
	return ": " + words
}

// newest returns the kind of the same name and group in the newest version of Kubernetes; empty if there is none.
func newest(apiVersion, name string) string {
	group, own, _ := strings.Cut(apiVersion, "/")
	best := ""
	for _, at := range versionsOf(name) {
		g, v, _ := strings.Cut(at, "/")
		if _, gone := removedIn(at, name); g == group && !gone && version.CompareKubeAwareVersionStrings(v, own) > 0 &&
			(best == "" || version.CompareKubeAwareVersionStrings(v, best) > 0) {
			best = v
		}
	}
	if best == "" {
		return ""
	}
	return group + "/" + best + " " + name
}

func tell(format string, args ...any) []Violation {
	return []Violation{{Pointer: "/apiVersion", Message: fmt.Sprintf(format, args...)}}
}
