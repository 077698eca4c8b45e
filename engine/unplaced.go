package engine

import (
	"regexp"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Objects whose namespace nothing names are evaluated as they are written. What a rule makes of their namespace is then
// not known: whether it applies is for the match package to say, and what it reads is found here, in its text.

var (
	namespaceRead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(metadata|request)\.("namespace"|namespace\b)|\bnamespaceLabels\b`)
	})
	namespaceKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/[=^<+X]?\(?metadata\)?/[=^<+X]?\(?namespace\)?$`) })
)

// readsNamespace reports whether what is evaluated of a tree reads the namespace of the object: messages only show it,
// and CEL asks for it when it is evaluated.
func readsNamespace(tree any) (reads bool) {
	walkStrings(tree, "", func(at, s string) {
		reads = reads || !strings.HasSuffix(at, "/message") && (namespaceRead().MatchString(s) || namespaceKey().MatchString(at))
	})
	return reads
}

// placed is the verdict of a rule, unknown where the rule reads the namespace of an object that names none.
func (v *review) placed(r *rule, d verdict) verdict {
	if !r.namespace || !v.target.Unplaced || d.outcome == "" || d.outcome == Unknown {
		return d
	}
	return verdict{outcome: Unknown, fields: d.fields, line: d.line,
		message: admission.NeedsNamespace(v.target.Identity).Error()}
}
