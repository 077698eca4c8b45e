package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/render/tree"
)

// Version returns a digest of the rules of a commit. It is equal if settings, policies and exceptions have the same
// content, without comments and after rendering. looksUp reports whether a policy may look up other objects, so that
// its results also depend on what the commit declares.
func (out *Sources) Version(t *tree.Tree) (digest string, looksUp bool) {
	h := sha256.New()
	if data, _, err := t.ReadFile(settings.Path); err == nil {
		fmt.Fprintf(h, "%q\n", data)
	}
	_, unread, _ := settings.Read(t) // without an error: the rules were found in this tree
	for _, p := range unread {
		fmt.Fprintf(h, "%q\n", p.String())
	}
	for _, list := range [][]Source{out.Policies, out.Exceptions} {
		fmt.Fprintln(h, len(list))
		for _, s := range list {
			documents := engine.RuleDocuments(ForEngine([]Source{s}))
			if len(documents) == 0 { // it may be unreadable
				fmt.Fprintf(h, "%q\n", s.Data)
			}
			for _, d := range documents {
				fmt.Fprintf(h, "%q %q\n", d.Path, d.Content)
				looksUp = looksUp || d.LooksUp
			}
		}
	}
	for _, p := range out.Problems { // why policies are not in effect
		fmt.Fprintf(h, "%q\n", p.String())
	}
	return hex.EncodeToString(h.Sum(nil)), looksUp
}
