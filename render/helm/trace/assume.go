package trace

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// event is a part of what a block would print: text, or something that is read of values.
type event struct {
	text  string
	reads []*node
	yaml  bool    // a whole value is printed, by toYaml
	needs []*node // what has to count as true
	// shift is how far the text is moved to the right, and of what is read the column where it begins; below 0 if that
	// is not known.
	shift int
}

// What a block may take that is executed to see what it would print.
const (
	maxAssumedSteps = 20_000
	maxAssumedBytes = 1 << 20
	maxAssumedDepth = 12
)

// assume returns what a skipped block would print if its conditions were true: it is executed once more, in which calls
// that fail return what went in.
func (e *exec) assume(h *skippedBlock, template string) []event {
	f := &frame{exec: e, set: h.set, tmpl: h.tmpl, out: &text{}, vars: slices.Clone(h.vars)}
	func() {
		defer func(limits Limits, depth int) {
			_ = recover() // what was printed until then counts
			e.assuming, e.limits, e.depth = false, limits, depth
			clear(e.included)
		}(e.limits, e.depth)
		e.limits = Limits{Steps: e.steps + maxAssumedSteps, Bytes: e.bytes + maxAssumedBytes, Depth: e.depth + maxAssumedDepth}
		e.assuming, e.ctx = true, context.WithoutCancel(e.ctx) // Run's may have ended, and the steps are few
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

// assumed returns the key and the element of the one round that a range is assumed to have.
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

// events takes apart what was printed, line by line. known says that it stands in its columns but for the first line.
func (t *text) events(known bool) (list []event) {
	var line event
	flush := func() {
		if line.text != "" {
			list = append(list, line)
		}
		line = event{}
	}
	var inside *node // a value that is printed key by key
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

// needs returns the values that are assumed to count as true where a piece stands, the outermost first.
func (g segment) needs() (list []*node) {
	g.cond.each(func(n *node, role Role) {
		if role == assumed && n.kind == Value {
			list = append(list, n)
		}
	})
	slices.Reverse(list)
	return list
}

// below reports whether a path leads through another one.
func (n *node) below(other *node) bool {
	for ; n != nil; n = n.up {
		if n == other {
			return true
		}
	}
	return false
}
