package cel

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/kinds"
)

// kindsOf returns the kinds with one of the plural names, of any group; nil where one of the names is not known.
func kindsOf(plurals []string) []string {
	out := []string{}
	for _, plural := range plurals {
		plural, _, _ = strings.Cut(plural, "/")
		found := kinds.OfPlural(plural)
		if found == nil {
			return nil
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// kindOf returns the kind with a plural name. For a custom resource it is the name in lower case and singular:
// the plural does not tell how the kind is capitalized.
func kindOf(group, plural string) string {
	if kind := kinds.Kind(group, plural); kind != "" {
		return kind
	}
	switch {
	case strings.HasSuffix(plural, "ies"):
		return plural[:len(plural)-3] + "y"
	case strings.HasSuffix(plural, "ches"), strings.HasSuffix(plural, "shes"), strings.HasSuffix(plural, "sses"),
		strings.HasSuffix(plural, "xes"):
		return plural[:len(plural)-2]
	}
	return strings.TrimSuffix(plural, "s")
}
