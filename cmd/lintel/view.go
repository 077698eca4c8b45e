package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// viewOptions are how much of a report the text shows, and in which order.
type viewOptions struct {
	groupBy, severity string
	quiet, allPlaces  bool
}

// flags adds the flags of a view. They apply only to text: formats for programs are always complete, so the flags are
// refused if no format is text.
func (o *viewOptions) flags(cmd *cobra.Command, in *formats) {
	f := cmd.Flags()
	groupings, severities := view.Groupings(), report.Severities()
	o.groupBy = groupings[0]
	addChoiceFlag(cmd, "group-by", &o.groupBy, groupings, "how the text is grouped: "+enumerated(groupings))
	addChoiceFlag(cmd, "severity", &o.severity, severities, "show findings of this severity and above, and count the "+
		"others: "+enumerated(severities)+"; a policy without severity is medium")
	f.BoolVar(&o.allPlaces, "all-places", false, "show every finding and all its places")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "show only the verdict and errors")
	for _, name := range []string{"group-by", "severity", "all-places"} {
		cmd.MarkFlagsMutuallyExclusive("quiet", name)
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := before(cmd, args); err != nil {
			return err
		}
		for _, name := range []string{"group-by", "severity", "all-places", "quiet"} {
			if f.Changed(name) && !in.has("text") {
				return fmt.Errorf("--%s works with text only: -o %s is always the whole report", name, in.first)
			}
		}
		return nil
	}
}

// apply adds the view to the options of a format.
func (o *viewOptions) apply(to output.Options) output.Options {
	to.GroupBy, to.Severity = view.Grouping(o.groupBy), o.severity
	to.AllPlaces, to.Quiet = o.allPlaces, o.quiet
	return to
}

// enumerated returns "a, b or c".
func enumerated(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
