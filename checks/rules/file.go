package rules

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// MaxBytes is the size of the largest file that is read. It is the maximum of the setting limits.fileBytes.
const MaxBytes = 256 << 20

// File is the text of a file of policies, exceptions or other objects.
type File struct {
	Path string
	Data []byte
	// Line converts a line of the data to one of the file at Path, if the data was rendered from that and other files.
	// Nil: the data is the file.
	Line func(line int) int
	// Inherited: see policy.Source.
	Inherited bool
}

// Source parses the file for the engine: into documents with the lines of the file.
func (f File) Source() policy.Source {
	out := policy.Source{Path: f.Path, Inherited: f.Inherited}
	if len(f.Data) > MaxBytes {
		out.Problems = []policy.Problem{TooLarge(f.Path)}
		return out
	}
	out.Digest = f.digest()
	documents, problems := doc.Documents(f.Path, f.Data, doc.Limits{})
	if f.Line != nil {
		done := map[*yaml.Node]bool{}
		for _, d := range documents {
			relocate(d, f.Line, done)
		}
	}
	for _, d := range documents {
		if d, problem := doc.Plain(f.Path, d); problem != nil {
			if !slices.ContainsFunc(problems, func(p doc.Error) bool { return p.Line == problem.Line }) { // of one cause
				problems = append(problems, *problem)
			}
		} else {
			out.Documents = append(out.Documents, d)
		}
	}
	for _, p := range problems {
		out.Problems = append(out.Problems, policy.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
	}
	return out
}

func (f File) digest() string {
	return fmt.Sprintf("%x", sha256.Sum256(f.Data))
}

// Documents returns the objects of the file, and its errors.
func (f File) Documents() ([]policy.Document, []policy.Problem) { return policy.Documents(f.Source()) }

// HavePolicies reports whether files have a policy, a binding of one, or an error that may hide one.
func HavePolicies(files []File) bool {
	return slices.ContainsFunc(files, func(f File) bool {
		documents, problems := f.Documents()
		return len(problems) > 0 || slices.ContainsFunc(documents, func(d policy.Document) bool {
			return engine.IsRule(d.Group(), d.Kind) && d.Kind != "PolicyException"
		})
	})
}

// ForEngine converts files for the engine.
func ForEngine[T interface{ Source() policy.Source }](files []T) []policy.Source {
	return report.Mapped(files, T.Source)
}

// TooLarge returns the problem that a file is larger than MaxBytes.
func TooLarge(path string) policy.Problem {
	return policy.Problem{Path: path, Message: fmt.Sprintf("the file is larger than %d MiB: split it", MaxBytes>>20)}
}

// relocate gives the nodes of a rendered document the lines of its file. Their columns are unknown.
func relocate(n *yaml.Node, line func(int) int, done map[*yaml.Node]bool) {
	if n == nil || done[n] {
		return
	}
	done[n] = true
	n.Line, n.Column = line(n.Line), 1
	for _, c := range n.Content {
		relocate(c, line, done)
	}
}
