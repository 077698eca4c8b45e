package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// tally counts agreement by class and by kind.
type tally struct {
	counts map[string]*counts
	of     map[bool]map[string]int // what the server refused, by its reason, and whether Lintel did, too
	by     map[string]int          // what Lintel refused, by its checks

	fields, alsoLintel              int // that the server named where both refuse an object
	warnings, bothWarn, lintelWarns int // of objects that both take
}

type counts struct{ objects, agree, silent, alone int }

// add counts an answer of each.
func (t *tally) add(verb, kind string, v verdict, said []words) {
	if t.counts == nil {
		t.counts = map[string]*counts{}
		t.of = map[bool]map[string]int{true: {}, false: {}}
		t.by = map[string]int{}
	}
	checks := map[string]bool{}
	for _, w := range said {
		checks[w.check] = true
	}
	if len(said) > 0 {
		t.by[strings.Join(slices.Sorted(maps.Keys(checks)), " and ")]++
	}
	class := verb + " taken"
	if v.refused() {
		class = verb + " refused"
		t.of[len(said) > 0][v.Reason]++
	}
	for _, key := range []string{"0 all", "1 " + class, "2 " + kind} {
		c := t.counts[key]
		if c == nil {
			c = &counts{}
			t.counts[key] = c
		}
		c.objects++
		switch lintel := len(said) > 0; {
		case v.refused() == lintel:
			c.agree++
		case lintel:
			c.alone++
		default:
			c.silent++
		}
	}
}

// print prints the table.
func (t *tally) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\t objects\t agree\t only the server refuses\t only Lintel refuses")
	for _, key := range slices.Sorted(maps.Keys(t.counts)) {
		c := t.counts[key]
		_, name, _ := strings.Cut(key, " ")
		_, _ = fmt.Fprintf(w, "%s\t %d\t %d\t %d\t %d\n", name, c.objects, c.agree, c.silent, c.alone)
	}
	_ = w.Flush()
	for _, reason := range slices.Sorted(maps.Keys(t.of[false])) {
		_, _ = fmt.Fprintf(out, "only the server refuses, with the reason %s: %d of %d\n", reason, t.of[false][reason],
			t.of[false][reason]+t.of[true][reason])
	}
	for _, checks := range slices.Sorted(maps.Keys(t.by)) {
		_, _ = fmt.Fprintf(out, "Lintel refuses, by %s: %d\n", checks, t.by[checks])
	}
	_, _ = fmt.Fprintf(out, "fields that the server names of what both refuse: %d, and Lintel names %d of them\n",
		t.fields, t.alsoLintel)
	_, _ = fmt.Fprintf(out, "warnings of what both take: %d of the server, %d of both, %d of Lintel\n", t.warnings, t.bothWarn,
		t.lintelWarns)
}
