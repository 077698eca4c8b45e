package checks

import (
	"encoding/json"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/remote"
)

// A check that needs an unfetched remote source runs again after the fetch. Sources that the base needed in earlier
// checks are therefore requested before the first run.

// expectedWants are the remote sources that the base needed in earlier checks.
type expectedWants struct {
	Base string         `json:"base"` // id of the base tree of the last check
	List []expectedWant `json:"list"`
}

type expectedWant struct {
	Want   remote.Want `json:"want"`
	Unused int         `json:"unused,omitempty"` // number of base trees that did not need it since one last did
}

// wantsTable stores expectedWants.
var wantsTable = env.Table{Name: "wants"}

// maxUnused is the number of base trees in a row that may not need a source before it is no longer expected.
const maxUnused = 8

// lastWants returns the remote sources that earlier checks of the repository stored.
func (k *kept) lastWants() expectedWants {
	last, _ := env.Get[expectedWants](k.renderings.Memory(), wantsTable, "", nil)
	return last
}

// expected returns a remote.Request for the expected sources. It is nil in every round but the first.
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

// expect stores the sources that the base needed in this check. A check of a base tree that was checked before may need
// fewer of them, since some answers are cached. It therefore does not count as a tree without use.
func (k *kept) expect(repo *repository, change report.Change) {
	if change.Sources == nil || change.All { // a check of the whole branch has no base
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
