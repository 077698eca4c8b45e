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

// hiding are texts that may hide others in YAML or JSON: an escape, a continued line, a value in base64.
var hiding = []string{`\u`, `\U`, `\x`, "\\\n", "\\\r\n", "!binary", "tag:yaml"}

// clock are texts without which the result of a rule cannot depend on the time: functions that return the time, and the
// expiry of an exception. user are those without which it cannot depend on who makes the request.
var (
	clock = append([]string{"time_now", "time_since", "expiresAt", "cleanup.kyverno.io/ttl"}, hiding...)
	user  = append([]string{"userInfo", "UserInfo", "subjects", "roles", "Roles", "serviceAccount", "authorizer",
		"admissionInfo"}, hiding...)
)

// nowWord matches the name of a function that returns the time.
var nowWord = regexp.MustCompile(`\bnow\b`)

// MayAskTime reports whether the result of the rules may depend on the time, judging by their text. It is never false
// if the result does.
func (out *Sources) MayAskTime() bool {
	return out.some(func(data []byte) bool {
		return bytes.Contains(data, []byte("now")) && nowWord.Match(data) || hasAny(data, clock)
	})
}

// MayAskUser reports whether the result of the rules may depend on who makes the request, judging by their text. Where it
// is wrong, the rules see somebody without a name.
func (out *Sources) MayAskUser() bool {
	return out.some(func(data []byte) bool { return hasAny(data, user) })
}

func (out *Sources) some(is func(data []byte) bool) bool {
	return out != nil && slices.ContainsFunc(slices.Concat(out.Policies, out.Exceptions), func(s Source) bool { return is(s.Data) })
}

func hasAny(data []byte, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(data, []byte(text)) })
}
