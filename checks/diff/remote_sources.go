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

// RemoteSources are the fetched remote sources of a check, with a record of what each use of them needs.
type RemoteSources struct {
	objects    *tree.Objects // nil: nothing was fetched
	base, head *remote.Sources
	lookups    [2]*remote.Sources
	preview    *remote.Sources
	first      bool
	last       bool
}

// OpenRemoteSources opens the fetched sources. Without s, the result has none and requests none. held is a cache of
// objects that earlier checks read from the store.
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

// Close closes the store of fetched objects.
func (o *RemoteSources) Close() {
	if o != nil && o.objects != nil {
		_ = o.objects.Close()
	}
}

// Err returns the error that some requested object could not be read: the result of the check does not count then.
func (o *RemoteSources) Err() error {
	if o.objects == nil || o.objects.Err() == nil {
		return nil
	}
	return fmt.Errorf("the source cache cannot be read completely: %w", o.objects.Err())
}

// Limit limits the bytes of one file, and the number of files and folders.
func (o *RemoteSources) Limit(bytes int64, files int) {
	if o.objects != nil {
		o.objects.SetBlobLimit(bytes)
		o.objects.SetFileLimit(files)
	}
}

// Sources returns the sources for rendering the base and the head. Each records what its side needs.
func (o *RemoteSources) Sources() (base, head *remote.Sources) { return o.base, o.head }

// Lookups returns the sources for rendering what policies look up, which record separately what they need.
func (o *RemoteSources) Lookups() (base, head *remote.Sources) { return o.lookups[0], o.lookups[1] }

// Preview returns the sources for previewing the head, which record separately what they need.
func (o *RemoteSources) Preview() *remote.Sources { return o.preview }

// Wanted returns a remote.Request for the sources that must be fetched before there can be a result; nil if there are
// none. allow is sources.allow of the settings.
func (o *RemoteSources) Wanted(allow []string) (json.RawMessage, error) {
	return o.request(allow, o.Sources)
}

// LookupsWanted is Wanted for objects that policies look up.
func (o *RemoteSources) LookupsWanted(allow []string) (json.RawMessage, error) {
	return o.request(allow, o.Lookups)
}

// First reports whether likely needed sources may be requested in advance: see report.Sources.
func (o *RemoteSources) First() bool { return o.first }

// Used lists the fetched sources that rendering the base needed, sorted.
func (o *RemoteSources) Used() []remote.Want {
	list := slices.Concat(o.base.Used(), o.lookups[0].Used())
	slices.SortFunc(list, remote.Compare)
	return slices.Compact(list)
}

// PreviewWants reports whether PreviewWanted returns a request.
func (o *RemoteSources) PreviewWants() bool {
	return !o.last && len(o.preview.Wanted()) > 0
}

// PreviewWanted is Wanted for a preview.
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
