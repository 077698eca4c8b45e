package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// kyvernoVersion is the release of the kyverno command whose flags these are: docs/user/cli/commands of its repository.
const kyvernoVersion = "1.19.0"

// kyvernoFlag is a flag of the kyverno command: "-r, --resource strings" has a short form and takes a value.
type kyvernoFlag struct {
	name, short string
	takes       bool
}

// kyvernoFlags reads flags as the help lists them.
func kyvernoFlags(list string) (out []kyvernoFlag) {
	for row := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		if row == "" {
			continue
		}
		var f kyvernoFlag
		for _, word := range strings.Fields(row) {
			word = strings.TrimSuffix(word, ",")
			switch {
			case strings.HasPrefix(word, "--"):
				f.name = word[2:]
			case strings.HasPrefix(word, "-"):
				f.short = word[1:]
			default:
				f.takes = true
			}
		}
		out = append(out, f)
	}
	return out
}

const kyvernoApplyFlags = `
--audit-warn
--batch-size int
-c, --cluster
--cluster-wide-resources
--concurrent int
--context string
--context-file string
--continue-on-error
--continue-on-fail
--crd-paths strings
--detailed-results
--envoy-payload strings
-e, --exception strings
--exceptions strings
--exceptions-with-resources
--exceptions-within-policies
--exceptions-within-resources
--generate-exceptions
--generated-exception-ttl duration
-b, --git-branch string
-h, --help
--http-payload strings
--json strings
--kubeconfig string
-n, --namespace string
-o, --output string
--output-format string
--parameter-resource strings
--password string
-p, --policy-report
--registry
--remove-color
-r, --resource strings
--resources strings
-s, --set strings
--show-performance
-i, --stdin
-t, --table
--target-resource strings
--target-resources strings
-u, --userinfo string
--username string
-f, --values-file string
--warn-exit-code int
--warn-no-pass
`

const kyvernoTestFlags = `
--detailed-results
--fail-only
-f, --file-name string
-b, --git-branch string
-h, --help
--kubeconfig string
-o, --output-format string
--registry
--remove-color
--require-tests
-t, --test-case-selector string
`

const kyvernoCommonFlags = `
--add_dir_header
--alsologtostderr
--alsologtostderrthreshold severity
--legacy_stderr_threshold_behavior
--log_backtrace_at traceLocation
--log_dir string
--log_file string
--log_file_max_size uint
--logtostderr
--one_output
--skip_headers
--skip_log_headers
--stderrthreshold severity
-v, --v Level
--vmodule moduleSpec
`

// Each flag of the kyverno command is known, with its short form, and takes a value where it does there; one that means
// nothing here names what to use instead.
func TestKyvernoFlags(t *testing.T) {
	if release := strings.TrimSuffix(kyvernoVersion, ".0"); !strings.Contains(section(t), "`kyverno apply` "+release) {
		t.Errorf("engine/README.md does not name release %s", release)
	}
	for _, c := range []struct {
		cmd  *cobra.Command
		list string
	}{{newApplyCommand(), kyvernoApplyFlags}, {newTestCommand(), kyvernoTestFlags}} {
		c.cmd.InitDefaultHelpFlag()
		for _, want := range kyvernoFlags(c.list + kyvernoCommonFlags) {
			f := c.cmd.Flags().Lookup(want.name)
			if f == nil {
				t.Errorf("%s: --%s is not known", c.cmd.Name(), want.name)
				continue
			}
			if want.short != "" {
				if short := c.cmd.Flags().ShorthandLookup(want.short); short == nil || short.Value != f.Value {
					t.Errorf("%s: -%s is not --%s", c.cmd.Name(), want.short, want.name)
				}
			}
			if takes := f.NoOptDefVal == ""; takes != want.takes {
				t.Errorf("%s: --%s takes a value: %v, want %v", c.cmd.Name(), want.name, takes, want.takes)
			}
			if v, ok := f.Value.(*foreignFlag); ok {
				checkInstead(t, v.instead)
			}
		}
	}
}

// checkInstead looks whether an advice is one clear line that says what to do.
func checkInstead(t *testing.T, advice string) {
	t.Helper()
	does := strings.Contains(advice, "use ") || strings.Contains(advice, "lintel ") || strings.Contains(advice, "name them") ||
		strings.Contains(advice, "say what") || strings.Contains(advice, "write ") || strings.Contains(advice, "list ")
	if advice != "" && (!does || strings.Contains(advice, "\n")) {
		t.Errorf("%q does not say what to use", advice)
	}
}
