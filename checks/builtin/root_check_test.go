package builtin

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/settings"
)

// A violation that the base has, in any root, is pre-existing, and is left out if its resource is not edited.
func TestViolationsOfRootChecksThatTheBaseHasAreNotNew(t *testing.T) {
	const (
		over = "-- over/kustomization.yaml --\nresources: [web.yaml]\npatches:\n"
		web  = "-- over/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"
		says = "over over/kustomization.yaml patch-target: the target of this patch matches nothing that the kustomization " +
			"has: kind: Job"
	)
	patch := func(target string) string {
		return "- target: {" + target + "}\n  patch: '- {op: add, path: /metadata/labels, value: {a: b}}'\n"
	}
	moved := strings.NewReplacer("-- over/", "-- other/")
	for _, c := range []struct {
		name, base, head string
		off              bool
		want             []string
	}{
		{"new", over + patch("kind: ConfigMap") + web, over + patch("kind: ConfigMap") + patch("kind: Job"), false,
			[]string{says}},
		{"switched off", over + patch("kind: ConfigMap") + web, over + patch("kind: Job"), true, nil},
		{"unchanged", over + patch("kind: Job") + web, strings.ReplaceAll(web, "a: b", "a: c"), false, nil},
		{"unchanged, and another patch is added before it", over + patch("kind: Job") + web, over + patch("kind: ConfigMap") +
			patch("kind: Job"), false, []string{says + " old"}},
		{"the target of the patch is removed", over + patch("kind: ConfigMap") + "- target: {kind: Secret}\n  patch: '- {op: add, path: " +
			"/metadata/labels, value: {a: b}}'\nsecretGenerator: [{name: s, literals: [a=b]}]\n" + web,
			over + patch("kind: ConfigMap") + patch("kind: Secret"), false,
			[]string{strings.ReplaceAll(says, "kind: Job", "kind: Secret")}},
		{"moved to another root", over + patch("kind: Job") + web, moved.Replace(over + patch("kind: Job") + web), false,
			[]string{strings.ReplaceAll(says, "over over/", "other other/")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			levels := settings.Checks{}
			if c.off {
				levels.PatchTarget = settings.LevelOff
			}
			if got := found(t, c.base, c.head, nil, levels); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The violations of a root that moves are pre-existing.
func TestCheckRootsThatMoved(t *testing.T) {
	const app = "-- a/web.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {template: {metadata: {labels: {app: web}}}}\n---\napiVersion: v1\nkind: Service\n" +
		"metadata: {name: web, namespace: shop}\nspec: {selector: {app: wbe}}\n"
	list := foundIn(t, app, []string{"a/web.yaml"}, strings.ReplaceAll(app, "-- a/", "-- b/"), nil, settings.Checks{})
	want := []string{"b b/web.yaml selector: matches no Pod of this root: Deployment web has the label app: web, not wbe old"}
	if !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
}
