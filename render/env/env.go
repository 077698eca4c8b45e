// Package env caches results about a repository together with what they depend on, and uses a result only while that is
// unchanged.
//
// A result that is expensive to compute is stored with the questions that were asked for it, and a digest of each answer: this
// file, this link, no such file, this source at this revision, this object. It is valid if and only if each question has
// the same answer now. This is the verifying trace of build systems (Mokhov, Mitchell, Peyton Jones: Build Systems à la
// Carte, 2018, section 4.2.2).
package env

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// Kind is the kind of a question.
type Kind byte

// The kinds of questions.
const (
	Content  Kind = 'c' // the entry at a path: the object id of a file, or of a folder after a slash, and where a symlink leads; empty: there is none; see nowhere
	Link     Kind = 'l' // the target of a path with symlinks
	Listing  Kind = 'n' // the names and kinds of the entries of a folder; empty: there is no such folder
	Source   Kind = 's' // the digest of a remote source (remote.Sources.Digest), by the want as JSON
	Object   Kind = 'o' // the object that a look-up finds, by the look-up as JSON
	Wanted   Kind = 'r' // the objects that an object of Argo CD or Flux refers to, by gitops.Wanted as JSON
	Versions Kind = 'v' // the API versions of a root's clusters, by the requested ones as JSON
	Deployed Kind = 'd' // how the root is deployed that the result is about
	Written  Kind = 'w' // the places that say how it is deployed
)

// Question is something that a result depends on.
type Question struct {
	Kind Kind
	Name string
}

// Asked has the questions of a result, with a digest of each answer.
type Asked map[Question]string

// Answerer answers questions.
type Answerer interface {
	// Answer returns the digest of the current answer to a question.
	Answer(q Question) string
}

// Same reports whether each question has the same answer now.
func (a Asked) Same(now Answerer) bool {
	for q, digest := range a {
		if now.Answer(q) != digest {
			return false
		}
	}
	return true
}

// encode encodes the questions, sorted so that the cheapest are answered first.
func (a Asked) encode() (out []byte) {
	for _, q := range slices.SortedFunc(maps.Keys(a), func(p, q Question) int {
		if p.Kind != q.Kind {
			return int(p.Kind) - int(q.Kind)
		}
		return strings.Compare(p.Name, q.Name)
	}) {
		out = append(out, byte(q.Kind))
		out = appendText(out, q.Name)
		out = appendText(out, a[q])
	}
	return out
}

// same is Asked.Same for encoded questions. It is false for other bytes.
func same(encoded []byte, now Answerer) bool {
	return each(encoded, func(q Question, digest []byte) bool {
		return now.Answer(q) == string(digest) && !strings.HasPrefix(string(digest), Unanswered)
	})
}

// decode returns encoded questions.
func decode(encoded []byte) Asked {
	a := Asked{}
	each(encoded, func(q Question, digest []byte) bool {
		a[q] = string(digest)
		return true
	})
	return a
}

// each visits encoded questions, until visit returns false. It returns false then, and for bytes that are not encoded
// questions.
func each(encoded []byte, visit func(q Question, digest []byte) bool) bool {
	for len(encoded) > 0 {
		kind := Kind(encoded[0])
		name, rest, ok := cutText(encoded[1:])
		digest, rest, whole := cutText(rest)
		if !ok || !whole || !visit(Question{kind, string(name)}, digest) {
			return false
		}
		encoded = rest
	}
	return true
}

func appendText[T string | []byte](out []byte, text T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// cutText returns the text at the start of data, as appendText wrote it, and the remaining bytes.
func cutText(data []byte) (text, rest []byte, ok bool) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, false
	}
	return data[used : used+int(n)], data[used+int(n):], true
}

// Unanswered is the answer to a question that could not be answered. A result with it is never valid.
const Unanswered = "!"

// nowhere begins the answer about a symlink whose target does not exist: kustomize fails there, unlike where nothing is.
const nowhere = "@"

// Of answers a question about a path of a tree.
func Of(t tree.Reader, q Question) string {
	if q.Kind == Listing {
		list, err := t.ReadDir(q.Name)
		return listing(list, err)
	}
	real, e, err := t.Lookup(q.Name)
	if err != nil {
		if !errors.Is(err, tree.ErrNotExist) {
			return Unanswered
		}
		list, _ := t.ReadDir(path.Dir(q.Name)) // if it does not exist, nothing is there
		if i := slices.IndexFunc(list, func(e tree.Entry) bool { return e.Name == path.Base(q.Name) && e.Kind == tree.Symlink }); i >= 0 {
			return nowhere + list[i].ID
		}
		return ""
	}
	if q.Kind == Link {
		return real
	}
	content := e.ID
	if e.Kind == tree.Dir {
		content = "/" + content
	}
	if real != q.Name { // what became a symlink to equal content is read at another place
		content += " " + real
	}
	return content
}

func listing(list []tree.Entry, err error) string {
	switch {
	case errors.Is(err, tree.ErrNotExist):
		return ""
	case err != nil:
		return Unanswered
	}
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%d %q\n", e.Kind, e.Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}
