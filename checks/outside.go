package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// outside is what a change takes from outside of the repository, as far as it was fetched. The nil outside has nothing
// and wants nothing.
type outside struct {
	objects    *tree.Objects
	base, head *remote.Sources // the same, but each knows what its side wants
	last       bool
}

// openOutside opens what was fetched, nil where nothing ever is.
func openOutside(ctx context.Context, s *report.Sources, git string, k *kept) (*outside, error) {
	if s == nil {
		return nil, nil
	}
	var lock remote.Lock
	if err := json.Unmarshal(s.Lock, &lock); err != nil {
		return nil, fmt.Errorf("reading what was fetched: %w", err)
	}
	objects, err := tree.Open(ctx, tree.Config{GitDir: s.GitDir, Git: git, Store: &k.fetched})
	if err != nil {
		return nil, err
	}
	return &outside{objects: objects, base: remote.New(lock, objects.Tree), head: remote.New(lock, objects.Tree),
		last: s.Last}, nil
}

func (o *outside) close() {
	if o != nil {
		_ = o.objects.Close()
	}
}

// err says that not everything could be read that was asked for.
func (o *outside) err() error {
	if o == nil || o.objects.Err() == nil {
		return nil
	}
	return fmt.Errorf("what was fetched cannot be read whole: %w", o.objects.Err())
}

func (o *outside) limit(l settings.Limits) {
	if o != nil {
		o.objects.SetBlobLimit(l.FileBytes)
		o.objects.SetFileLimit(l.Files)
	}
}

// sources is what there is to render the base and the head with.
func (o *outside) sources() (base, head *remote.Sources) {
	if o == nil {
		return nil, nil
	}
	return o.base, o.head
}

// wanted lists what is to be fetched before there can be a result, nil where nothing is.
func (o *outside) wanted() (json.RawMessage, error) {
	if o == nil || o.last {
		return nil, nil
	}
	var list []remote.Asked
	shared := o.base.Wanted()
	for _, w := range shared {
		list = append(list, remote.Asked{Want: w, Base: true})
	}
	for _, w := range o.head.Wanted() {
		if !slices.Contains(shared, w) {
			list = append(list, remote.Asked{Want: w})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}
