package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

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

// clock are texts without which the result of a rule cannot depend on the time. They are functions that return the
// time, the expiry of an exception, and what may hide either in YAML or JSON: an escape, a continued line, a value in
// base64.
var clock = []string{"time_now", "time_since", "expiresAt", "cleanup.kyverno.io/ttl", `\u`, `\U`, `\x`, "\\\n", "\\\r\n",
	"!binary", "tag:yaml"}

// nowWord matches the name of a function that returns the time.
var nowWord = regexp.MustCompile(`\bnow\b`)

// MayAskTime reports whether the result of the rules may depend on the time, judging by their text. It is never false
// if the result does.
func (out *Sources) MayAskTime() bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool {
		return bytes.Contains(s.Data, []byte("now")) && nowWord.Match(s.Data) || slices.ContainsFunc(clock, func(text string) bool {
			return bytes.Contains(s.Data, []byte(text))
		})
	})
}
