package gitops_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/gitops"
)

func TestHooksRun(t *testing.T) {
	for _, one := range []struct {
		hooks  gitops.Hooks
		events string
		want   bool
	}{
		{gitops.Hooks{}, "test", false},
		{gitops.Hooks{}, "test post-install", true},
		{gitops.Hooks{SkipTests: true}, "test post-install", false},
		{gitops.Hooks{Tests: true}, "test", true},
		{gitops.Hooks{Tests: true, Except: []string{"a"}}, "test", false},
		{gitops.Hooks{Tests: true, Except: []string{"a"}}, "test pre-upgrade", true},
		{gitops.Hooks{Tests: true, Except: []string{"b"}}, "test", true},
		{gitops.Hooks{Tests: true, Only: []string{"b"}}, "test", false},
		{gitops.Hooks{Tests: true, Only: []string{"a", "b"}}, "test", true},
		{gitops.Hooks{Idle: []string{"install"}}, "pre-install post-install", false},
		{gitops.Hooks{Idle: []string{"install"}}, "pre-install pre-upgrade", true},
		{gitops.Hooks{Idle: []string{"install", "upgrade"}, Tests: true}, "pre-install test", true},
		{gitops.Hooks{Idle: []string{"delete"}}, "pre-delete", false},
		{gitops.Hooks{Idle: []string{"delete"}}, "pre-rollback", true},
	} {
		if got := one.hooks.Runs("a", strings.Fields(one.events)); got != one.want {
			t.Errorf("%+v runs %s: %t", one.hooks, one.events, got)
		}
	}
}
