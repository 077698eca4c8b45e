package rules

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// maxCompiled is the number of sets of policies that a compiler keeps.
const maxCompiled = 4

// Compiler compiles policies and keeps the last results, by the content of the files. The zero value is ready; it is
// not safe for concurrent use.
type Compiler struct{ kept []compiled } // most recently used first

type compiled struct {
	digest   [sha256.Size]byte
	policies *engine.Policies
	problems []policy.Problem
}

func (c *Compiler) policies(sources []Source, options engine.Options) (*engine.Policies, []policy.Problem) {
	if c == nil {
		return engine.CompilePolicies(ForEngine(sources), options)
	}
	digest := digestOf(sources)
	i := slices.IndexFunc(c.kept, func(k compiled) bool { return k.digest == digest })
	if i >= 0 {
		known := c.kept[i]
		c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, known)
		return known.policies.At(options.Now), known.problems
	}
	policies, problems := engine.CompilePolicies(ForEngine(sources), options)
	c.kept = slices.Insert(c.kept, 0, compiled{digest, policies, problems})
	c.kept = c.kept[:min(len(c.kept), maxCompiled)]
	return policies, problems
}

func digestOf(sources []Source) [sha256.Size]byte {
	h := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(h, "%q %t %d ", s.Path, s.Inherited, len(s.Data))
		h.Write(s.Data)
		for line := range bytes.Count(s.Data, []byte("\n")) {
			if s.Line != nil {
				fmt.Fprintln(h, s.Line(line+1))
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
