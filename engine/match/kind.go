package match

import (
	"regexp"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/pattern"
)

// Kind is a parsed kind selector: "Pod", "v1/Pod", "apps/*/Deployment", "Pod/exec", "*/*". Each part may
// hold wildcards.
type Kind struct {
	Group, Version, Kind, SubResource string
}

var versionPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(v\d+((alpha|beta)\d+)?|\*)$`) })

// ParseKind parses a kind selector. It returns false if a part is empty or there are too many.
func ParseKind(s string) (Kind, bool) {
	parts := strings.Split(s, "/")
	// "Deployment.scale" is another spelling of "Deployment/scale".
	if kind, sub, ok := strings.Cut(parts[len(parts)-1], "."); ok {
		parts = append(parts[:len(parts)-1], kind, sub)
	}
	k := Kind{Group: "*", Version: "*"}
	switch len(parts) {
	case 1:
		k.Kind = parts[0]
	case 2:
		switch {
		case parts[0] == "*" && parts[1] == "*":
			k.Kind, k.SubResource = "*", "*"
		case parts[0] == "*" && strings.ToLower(parts[1]) == parts[1]:
			k.Kind, k.SubResource = parts[0], parts[1]
		case versionPart().MatchString(parts[0]):
			k.Version, k.Kind = parts[0], parts[1]
		default:
			k.Kind, k.SubResource = parts[0], parts[1]
		}
	case 3:
		if versionPart().MatchString(parts[0]) {
			k.Version, k.Kind, k.SubResource = parts[0], parts[1], parts[2]
		} else {
			k.Group, k.Version, k.Kind = parts[0], parts[1], parts[2]
		}
	case 4:
		k.Group, k.Version, k.Kind, k.SubResource = parts[0], parts[1], parts[2], parts[3]
	default:
		return Kind{}, false
	}
	return k, k.Kind != "" && k.Version != "" // an empty group is the core group
}

// IsPod reports whether the selector matches only pods.
func (k Kind) IsPod() bool { return k.Kind == "Pod" }

// is reports whether the request is about a kind.
func (t *Target) is(k Kind) bool {
	id := t.Identity
	if !wild(k.Kind, id.Kind) || !wild(k.Group, id.Group) || !wild(k.Version, id.Version) {
		return false
	}
	if wild(k.SubResource, t.SubResource) {
		return true
	}
	// Rules on pods apply to ephemeral containers even if they do not name them.
	return t.SubResource == "ephemeralcontainers" && id.Kind == "Pod" && id.Group == "" && id.Version == "v1"
}

// wild is pattern.Wildcard with a fast path for the common cases.
func wild(p, s string) bool {
	if p == "*" || p == s {
		return true
	}
	if strings.IndexByte(p, '*') < 0 && strings.IndexByte(p, '?') < 0 {
		return false
	}
	return pattern.Wildcard(p, s)
}
