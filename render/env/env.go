// Package env says what an answer about a repository rests on, and keeps answers for as long as that stays the same.
//
// Whatever is dear to work out is a value with the questions that were asked on the way and a digest of each answer: this
// file, this link, no such file, this source at this revision, this object. It is good if and only if each question has
// the same answer now. This is the verifying trace of build systems (Mokhov, Mitchell, Peyton Jones: Build Systems à la
// Carte, 2018, section 4.2.2).
package env

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// Kind is what a question is about.
type Kind byte

// The kinds.
const (
	Content  Kind = 'c' // what is at a path: the object id of a file, that of a folder behind a slash; empty: nothing is
	Link     Kind = 'l' // where a path leads
	Listing  Kind = 'n' // the names in a folder and what kind each is; empty: there is no such folder
	Source   Kind = 's' // what a want came to (remote.Sources.Digest), by the want as JSON
	Object   Kind = 'o' // the object that a look-up finds, by the look-up as JSON
	Versions Kind = 'v' // the API versions of the clusters of a root, by what is asked of them as JSON
	Deployed Kind = 'd' // how the root is deployed that the answer is about
	Written  Kind = 'w' // the files that say how it is deployed: where their lines are
)

// Question is one thing that was asked.
type Question struct {
	Kind Kind
	Name string
}

// Asked is what was asked, with a digest of each answer.
type Asked map[Question]string

// Answerer answers questions.
type Answerer interface {
	// Answer returns the digest of the answer to a question as it is now.
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

// encode writes what was asked, sorted: what is cheap to ask first.
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

// same is Asked.Same of what encode wrote; it is false of what it did not write.
func same(encoded []byte, now Answerer) bool {
	return each(encoded, func(q Question, digest []byte) bool {
		return now.Answer(q) == string(digest) && !bytes.HasPrefix(digest, unanswered)
	})
}

// decode reads what encode wrote.
func decode(encoded []byte) Asked {
	a := Asked{}
	each(encoded, func(q Question, digest []byte) bool {
		a[q] = string(digest)
		return true
	})
	return a
}

// each visits what encode wrote, until visit returns false. It returns false then, and where encode did not write it.
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

// cutText returns the text that appendText wrote first, and what is behind it.
func cutText(data []byte) (text, rest []byte, ok bool) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, false
	}
	return data[used : used+int(n)], data[used+int(n):], true
}

// unanswered is what a question comes to that cannot be answered: what rests on it is not kept for long.
var unanswered = []byte("!")

// Of answers a question about a path of a tree.
func Of(t tree.Reader, q Question) string {
	if q.Kind == Listing {
		list, err := t.ReadDir(q.Name)
		return listing(list, err)
	}
	real, e, err := t.Lookup(q.Name)
	if err != nil {
		if errors.Is(err, tree.ErrNotExist) {
			return ""
		}
		return string(unanswered)
	}
	if q.Kind == Link {
		return real
	}
	content := e.ID
	if e.Kind == tree.Dir {
		content = "/" + content
	}
	return content
}

func listing(list []tree.Entry, err error) string {
	switch {
	case errors.Is(err, tree.ErrNotExist):
		return ""
	case err != nil:
		return string(unanswered)
	}
	h := sha256.New()
	for _, e := range list {
		fmt.Fprintf(h, "%d %q\n", e.Kind, e.Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}
