package trace

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// event is a part of what a block would print: text, or values that are read.
type event struct {
	text  string
	reads []*node
	yaml  bool    // toYaml prints a whole value
	needs []*node // values that must be true
	// shift is the indentation that is added to a text. For values it is the column at which they are printed. It is
	// negative if not known.
	shift int
}

// Limits for a block that is executed to see what it would print.
const (
	maxAssumedSteps = 20_000
	maxAssumedBytes = 1 << 20
	maxAssumedDepth = 12
)

// assume returns what a skipped block would print if its conditions were true. It executes the block again; calls that
// fail return their arguments.
func (e *exec) assume(h *skippedBlock, template string) []event {
	f := &frame{exec: e, set: h.set, tmpl: h.tmpl, out: &text{}, vars: slices.Clone(h.vars)}
	func() {
		defer func(limits Limits, depth int) {
			_ = recover() // keep what was printed until then
			e.assuming, e.limits, e.depth = false, limits, depth
			clear(e.included)
		}(e.limits, e.depth)
		e.limits = Limits{Steps: e.steps + maxAssumedSteps, Bytes: e.bytes + maxAssumedBytes, Depth: e.depth + maxAssumedDepth}
		e.assuming, e.ctx = true, context.WithoutCancel(e.ctx) // the context of Run may have ended; the steps are limited instead
		switch n := h.node.(type) {
		case *parse.ActionNode:
			f.walk(h.dot, n)
		case *parse.BranchNode:
			if n.NodeType == parse.NodeRange {
				f.loop(h.dot, &parse.RangeNode{BranchNode: *n})
			} else {
				f.branch(h.dot, n, n.NodeType == parse.NodeWith)
			}
		}
	}()
	return f.out.events(h.tmpl.name == template && !h.moved)
}

// assumed returns the key and the element of the single iteration that is assumed for a range.
func (f *frame) assumed(over value) (k, v value) {
	k = value{sh: taint{org: f.origin(over), cond: over.sh.cond}}
	switch rv := concrete(over.rv); {
	case rv.Kind() == reflect.Slice && rv.Len() > 0:
		return k, f.index(over, 0)
	case rv.Kind() == reflect.Map:
		return k, k
	}
	return k, value{sh: taint{org: over.sh.mix().child("0"), cond: over.sh.cond}}
}

// events splits printed text into lines and values. known means that its columns are known, except for the first line.
func (t *text) events(known bool) (list []event) {
	var line event
	flush := func() {
		if line.text != "" {
			list = append(list, line)
		}
		line = event{}
	}
	var inside *node // a value whose keys are printed one by one
	at := 0
	for _, g := range t.segments {
		s := string(t.buf[at : at+int(g.n)])
		begin := bytes.LastIndexByte(t.buf[:at], '\n')
		at += int(g.n)
		e := event{yaml: slices.Contains([]string{"null", "{}", "[]"}, s), needs: g.needs(), shift: -1}
		if known && begin >= 0 {
			e.shift = at - int(g.n) - begin - 1
		}
		g.org.leaves(func(n *node) {
			switch n.kind {
			case Value:
				e.reads = append(e.reads, n)
			case Key:
				e.reads, e.yaml = append(e.reads, n.up), true
			}
		})
		switch {
		case inside != nil && (g.org == nil || len(e.reads) > 0 && e.reads[0].below(inside)):
			continue
		case len(e.reads) > 0:
			flush()
			list = append(list, e)
			if inside = nil; g.org.isKey() {
				inside = g.org.up
			}
			continue
		}
		inside = nil
		for i, part := range strings.Split(s, "\n") {
			if i > 0 {
				flush()
				line.text = "\n"
			}
			line.text += part
			if line.shift = 0; !known {
				line.shift = -1
			}
			for _, n := range e.needs {
				if !slices.Contains(line.needs, n) {
					line.needs = append(line.needs, n)
				}
			}
		}
	}
	flush()
	return list
}

// needs returns the values that are assumed to be true at a segment, the outermost first.
func (g segment) needs() (list []*node) {
	g.cond.each(func(n *node, role Role) {
		if role == assumed && n.kind == Value {
			list = append(list, n)
		}
	})
	slices.Reverse(list)
	return list
}

// below reports whether another path is a prefix of a path.
func (n *node) below(other *node) bool {
	for ; n != nil; n = n.up {
		if n == other {
			return true
		}
	}
	return false
}
