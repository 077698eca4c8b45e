package checks

import (
	"encoding/json"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/remote"
)

// Each time that a check wants something from outside it is done again. What the base wanted in the last checks it will
// most likely want now: it is fetched before the first look.

// expectedWants are what the base wanted in earlier checks.
type expectedWants struct {
	Base string         `json:"base"` // the tree of the last one
	List []expectedWant `json:"list"`
}

type expectedWant struct {
	Want   remote.Want `json:"want"`
	Unused int         `json:"unused,omitempty"` // trees that did not want it, since one did
}

// wantsTable has them.
var wantsTable = env.Table{Name: "wants"}

// maxUnused is how many trees of the base need not want something that is still expected.
const maxUnused = 8

// lastWants is what is expected, by any check of the repository.
func (k *kept) lastWants() expectedWants {
	last, _ := env.Get[expectedWants](k.renderings.Memory(), wantsTable, "", nil)
	return last
}

// expected is a remote.Request for what is expected to be wanted, nil where something was asked for already.
func (k *kept) expected(repo *repository) (json.RawMessage, error) {
	list := k.lastWants().List
	if !repo.remote.First() || len(list) == 0 {
		return nil, nil
	}
	request := remote.Request{Allow: repo.settings.Sources.Allow, Prefetch: true}
	for _, one := range list {
		request.Wants = append(request.Wants, remote.Asked{Want: one.Want})
	}
	return json.Marshal(request)
}

// expect keeps what the base wanted in a check. Of a tree that was seen before it may not want all: part of the answers are
// kept.
func (k *kept) expect(repo *repository, change report.Change) {
	if change.Sources == nil || change.All { // of a whole branch there is no base
		return
	}
	last, now := k.lastWants(), expectedWants{Base: repo.trees.Base.Tree.ID()}
	used := repo.remote.Used()
	for _, want := range used {
		now.List = append(now.List, expectedWant{Want: want})
	}
	for _, one := range last.List {
		if _, is := slices.BinarySearchFunc(used, one.Want, remote.Compare); is {
			continue
		}
		if now.Base != last.Base {
			one.Unused++
		}
		if one.Unused <= maxUnused {
			now.List = append(now.List, one)
		}
	}
	env.Put(k.renderings.Memory(), wantsTable, "", nil, now)
}
