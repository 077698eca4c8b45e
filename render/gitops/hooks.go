package gitops

import (
	"slices"
	"strings"
)

// Hooks says which hooks of a chart are deployed (https://helm.sh/docs/topics/charts_hooks/). The zero value leaves out
// those that are only tests.
type Hooks struct {
	Idle         []string // what no hook runs before or after: install, upgrade, rollback or delete
	Tests        bool     // tests run after an installation and an upgrade
	Only, Except []string // names of the tests that run; no names in Only: all
	SkipTests    bool     // a test is left out even if it is another hook, too
}

// Runs reports whether a hook is deployed.
func (h Hooks) Runs(name string, events []string) bool {
	if slices.Contains(h.Except, name) || len(h.Only) > 0 && !slices.Contains(h.Only, name) {
		h.Tests = false
	}
	return !(h.SkipTests && slices.ContainsFunc(events, isTest)) && slices.ContainsFunc(events, h.runsOn)
}

// runsOn reports whether hooks of an event run.
func (h Hooks) runsOn(event string) bool {
	_, action, _ := strings.Cut(event, "-")
	return isTest(event) && h.Tests || !isTest(event) && !slices.Contains(h.Idle, action)
}

// isTest reports whether an event is that of a test, also in the spelling of Helm 2.
func isTest(event string) bool { return event == "test" || event == "test-success" }

// renewing lists the events at which a deployment runs hooks of Helm each time. If d is nil, the deployment is unknown.
func (d *Deployment) renewing() []string {
	events := []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
	if d == nil || d.Kind != FluxHelm || d.Release == nil {
		return events
	}
	return slices.DeleteFunc(append(events, "test", "test-success"), func(e string) bool { return !d.Release.Hooks.runsOn(e) })
}

// fluxHooks returns the hooks that a HelmRelease runs (https://fluxcd.io/flux/components/helm/helmreleases/).
func fluxHooks(spec *field) (out Hooks) {
	out.Tests = spec.truth("test", "enable")
	for _, action := range []string{"install", "upgrade", "rollback", "uninstall"} {
		if spec.truth(action, "disableHooks") {
			out.Idle = append(out.Idle, strings.Replace(action, "uninstall", "delete", 1))
		}
	}
	for _, filter := range spec.elements("test", "filters") {
		if filter.truth("exclude") {
			out.Except = append(out.Except, filter.text("name"))
		} else {
			out.Only = append(out.Only, filter.text("name"))
		}
	}
	return out
}
