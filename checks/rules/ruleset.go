package rules

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Ruleset is one version of the rules, compiled. It is immutable and safe for concurrent use.
type Ruleset struct {
	Settings   *settings.Settings
	Policies   *engine.Policies
	Exceptions []*engine.Exception

	Errors   []report.Problem // reasons why a rule is not in effect
	Broken   map[string]bool  // the files of these errors, also of errors in PassedOn
	PassedOn []report.Problem // errors of rules that the caller of the check named
	Warnings []report.Problem // other messages, for example that a kind of policy is only evaluated in clusters
	// Deprecated are parts that still work and should be rewritten; the message does not depend on their place.
	Deprecated []report.Problem
}

// Compile compiles rules. A compiler reuses earlier results for the same policies; nil always compiles.
func Compile(s *Sources, now time.Time, known *Compiler) *Ruleset {
	set := &Ruleset{Settings: s.Settings, Warnings: slices.Clone(s.Warnings), PassedOn: s.PassedOn}
	options := engine.Options{Now: now, Bound: true}
	policies, problems := known.policies(s.Policies, options)
	exceptions, more := engine.CompileExceptions(ForEngine(s.Exceptions), options)
	set.Policies = policies
	set.lastOfEachName(exceptions, s)
	problems = slices.Concat(problems, policies.Unsupported(), more)
	errs, warnings := Problems(report.Kept(problems, func(p policy.Problem) bool { return !p.Deprecated }))
	set.Errors, set.Warnings = errs, append(set.Warnings, warnings...)
	_, set.Deprecated = Problems(report.Kept(problems, func(p policy.Problem) bool { return p.Deprecated }))
	set.Broken = map[string]bool{}
	for _, p := range set.Errors {
		set.Broken[p.Path] = true
	}
	set.settle(s)
	return set
}

// lastOfEachName drops exceptions that another one of the same name replaces in a cluster: a later one in the same file
// or folder, since the one that is applied last counts. Exceptions of other folders, and rendered ones, may be in other
// clusters.
func (set *Ruleset) lastOfEachName(list []*engine.Exception, s *Sources) {
	type key struct{ group, namespace, name, folder string }
	last := map[key]*engine.Exception{}
	of := func(e *engine.Exception) key {
		group, _, _ := strings.Cut(e.APIVersion, "/")
		return key{group, e.Namespace, e.Name, path.Dir(e.Path)}
	}
	rendered := map[string]bool{}
	for _, one := range s.Exceptions {
		rendered[one.Path] = rendered[one.Path] || one.Folder != ""
	}
	plain := func(e *engine.Exception) bool { return e.Name != "" && !rendered[e.Path] }
	for _, e := range list {
		if plain(e) {
			last[of(e)] = e
		}
	}
	for _, e := range list {
		if by := last[of(e)]; plain(e) && by != e {
			set.Warnings = append(set.Warnings, report.Problem{Path: e.Path, Line: e.Line, Message: fmt.Sprintf(""+
				"PolicyException %s is also defined at %s:%d, which a cluster applies last: this one does not count, "+
				"so remove it", e.Name, by.Path, by.Line)})
			continue
		}
		set.Exceptions = append(set.Exceptions, e)
	}
}

// settle moves the problems of other repositories' rules to the place where this repository names them. It drops their
// warnings, which those repositories report.
func (set *Ruleset) settle(s *Sources) {
	places := map[string]Source{}
	for _, one := range slices.Concat(s.Policies, s.Exceptions) {
		if one.outside || one.given {
			places[one.Path] = one
		}
	}
	var own []report.Problem
	for _, p := range set.Errors {
		switch from := places[p.Path]; {
		case from.given:
			set.PassedOn = append(set.PassedOn, p)
		case from.outside:
			own = append(own, moved(p, "", from.at))
		default:
			own = append(own, p)
		}
	}
	set.Errors = own
	elsewhere := func(p report.Problem) bool { return IsExternal(p.Path) }
	set.Warnings = slices.DeleteFunc(set.Warnings, elsewhere)
	set.Deprecated = slices.DeleteFunc(set.Deprecated, elsewhere)
}

// Count adds the rules to the numbers of a report. It leaves out those in seen, since clusters may share rules, and
// adds its own.
func (set *Ruleset) Count(s *report.Stats, seen map[string]bool) {
	first := func(path string, line int) bool {
		place := fmt.Sprintf("%s:%d", path, line)
		known := seen[place]
		seen[place] = true
		return !known
	}
	for _, p := range set.Policies.List() {
		if first(p.Path, p.Line) {
			s.Policies++
			s.Rules += len(p.Rules)
			if p.MatchesNothing {
				s.MatchNothing++
			}
		}
	}
	for _, e := range set.Exceptions {
		if first(e.Path, e.Line) {
			s.Exceptions++
		}
	}
}

// Problems splits the engine's problems into errors, which fail the check, and warnings.
func Problems(list []policy.Problem) (errs, warnings []report.Problem) {
	for _, p := range list {
		q := report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message, Common: p.Common}
		if p.Warning {
			warnings = append(warnings, q)
		} else {
			errs = append(errs, q)
		}
	}
	return errs, warnings
}

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
