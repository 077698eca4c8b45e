package diff

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// RemoteSources is what a job takes from outside of the repository, as far as it was fetched.
type RemoteSources struct {
	objects    *tree.Objects // nil: nothing was fetched
	base, head *remote.Sources
	lookups    [2]*remote.Sources
	preview    *remote.Sources
	first      bool
	last       bool
}

// OpenRemoteSources opens what was fetched; where nothing ever is, the result has nothing and wants nothing. held is what
// was read of the store before.
func OpenRemoteSources(ctx context.Context, s *report.Sources, git string, held *tree.Store) (*RemoteSources, error) {
	if s == nil {
		return &RemoteSources{last: true}, nil
	}
	var lock remote.Lock
	if err := json.Unmarshal(s.Lock, &lock); err != nil {
		return nil, fmt.Errorf("reading the source cache: %w", err)
	}
	o := &RemoteSources{first: s.First, last: s.Last}
	trees := func(string) (*tree.Tree, error) { return nil, tree.ErrNoObject }
	if len(lock) > 0 {
		var err error
		if o.objects, err = tree.Open(ctx, tree.Config{GitDir: s.GitDir, Git: git, Store: held}); err != nil {
			return nil, err
		}
		trees = o.objects.Tree
	}
	o.base, o.head = remote.New(lock, trees), remote.New(lock, trees)
	o.base.Provisional, o.head.Provisional = !s.Last, !s.Last
	o.lookups, o.preview = [2]*remote.Sources{o.base.Aside(), o.head.Aside()}, o.head.Aside()
	return o, nil
}

// Close ends the reading.
func (o *RemoteSources) Close() {
	if o != nil && o.objects != nil {
		_ = o.objects.Close()
	}
}

// Err says that not everything could be read that was asked for: no answer counts then.
func (o *RemoteSources) Err() error {
	if o.objects == nil || o.objects.Err() == nil {
		return nil
	}
	return fmt.Errorf("the source cache cannot be read completely: %w", o.objects.Err())
}

// Limit bounds what is read: bytes of one file, and files and folders.
func (o *RemoteSources) Limit(bytes int64, files int) {
	if o.objects != nil {
		o.objects.SetBlobLimit(bytes)
		o.objects.SetFileLimit(files)
	}
}

// Sources is what there is to render the base and the head with: the same, but each knows what its side wants.
func (o *RemoteSources) Sources() (base, head *remote.Sources) { return o.base, o.head }

// Lookups is what Sources returns, for rendering what policies look up: they have wants of their own.
func (o *RemoteSources) Lookups() (base, head *remote.Sources) { return o.lookups[0], o.lookups[1] }

// Preview is what Sources returns for the head, for rendering what the change does not touch: it has wants of its own.
func (o *RemoteSources) Preview() *remote.Sources { return o.preview }

// Wanted is a remote.Request for what is to be fetched before there can be a result, nil where nothing is. allow is that
// of the settings.
func (o *RemoteSources) Wanted(allow []string) (json.RawMessage, error) {
	return o.request(allow, o.Sources)
}

// LookupsWanted is Wanted for what policies look up.
func (o *RemoteSources) LookupsWanted(allow []string) (json.RawMessage, error) {
	return o.request(allow, o.Lookups)
}

// First reports whether what is likely to be wanted may be asked for: see report.Sources.
func (o *RemoteSources) First() bool { return o.first }

// Used lists what was fetched and the base's side asked for, sorted.
func (o *RemoteSources) Used() []remote.Want {
	list := slices.Concat(o.base.Used(), o.lookups[0].Used())
	slices.SortFunc(list, remote.Compare)
	return slices.Compact(list)
}

// PreviewWants reports whether PreviewWanted has something.
func (o *RemoteSources) PreviewWants() bool {
	return !o.last && len(o.preview.Wanted()) > 0
}

// PreviewWanted is Wanted for what a preview looks at.
func (o *RemoteSources) PreviewWanted(allow []string) (json.RawMessage, error) {
	if !o.PreviewWants() {
		return nil, nil
	}
	var list []remote.Asked
	for _, w := range o.preview.Wanted() {
		list = append(list, remote.Asked{Want: w, Preview: true})
	}
	return json.Marshal(remote.Request{Wants: list, Allow: allow})
}

func (o *RemoteSources) request(allow []string, of func() (base, head *remote.Sources)) (json.RawMessage, error) {
	if o.last {
		return nil, nil
	}
	base, head := of()
	shared := base.Wanted()
	list := make([]remote.Asked, 0, len(shared))
	for _, w := range shared {
		list = append(list, remote.Asked{Want: w, Base: true, Given: base.IsGiven(w)})
	}
	for _, w := range head.Wanted() {
		if !slices.Contains(shared, w) {
			list = append(list, remote.Asked{Want: w, Given: head.IsGiven(w)})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(remote.Request{Wants: list, Allow: allow})
}
