package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// RemoteSources are the fetched remote sources of a check, with a record of what each use of them needs.
type RemoteSources struct {
	open       func() (*tree.Objects, error) // once
	opened     atomic.Pointer[tree.Objects]  // nil: nothing was read
	limit      func(*tree.Objects)           // see Apply
	allow      []string                      // see Apply
	base, head *remote.Sources
	lookups    [2]*remote.Sources
	preview    *remote.Sources
	last       bool
	ask        func(request json.RawMessage) json.RawMessage // see report.Sources
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
	o := &RemoteSources{last: s.Last, ask: s.Ask}
	o.open = sync.OnceValues(func() (*tree.Objects, error) {
		objects, err := tree.Open(ctx, tree.Config{GitDir: s.GitDir, Git: git, Store: held})
		if err == nil && o.limit != nil {
			o.limit(objects)
		}
		o.opened.Store(objects)
		return objects, err
	})
	o.head = remote.New(lock, func(id string) (*tree.Tree, error) {
		objects, err := o.open()
		if err != nil {
			return nil, err
		}
		return objects.Tree(id)
	})
	o.head.Provisional = !s.Last
	o.base = o.head.Aside()
	o.base.Base = true
	if o.ask != nil { // until the settings are known, only for sources that the caller named
		o.head.Ask(func(a remote.Asked) (remote.Entry, bool) {
			if !a.Given {
				return remote.Entry{}, false
			}
			return o.answer(a)
		})
	}
	o.lookups, o.preview = [2]*remote.Sources{o.base.Aside(), o.head.Aside()}, o.head.Aside()
	return o, nil
}

// Close closes the store of fetched objects.
func (o *RemoteSources) Close() {
	if o == nil {
		return
	}
	if objects := o.opened.Load(); objects != nil {
		_ = objects.Close()
	}
}

// Err returns the error that some requested object could not be read: the result of the check does not count then.
func (o *RemoteSources) Err() error {
	objects := o.opened.Load()
	if objects == nil || objects.Err() == nil {
		return nil
	}
	return fmt.Errorf("the source cache cannot be read completely: %w", objects.Err())
}

// Apply applies the settings: it limits the bytes of one file, and the number of files and folders, and lets sources
// that allow (sources.allow) covers be asked for.
func (o *RemoteSources) Apply(bytes int64, files int, allow []string) {
	o.limit = func(objects *tree.Objects) {
		objects.SetBlobLimit(bytes)
		objects.SetFileLimit(files)
	}
	if objects := o.opened.Load(); objects != nil {
		o.limit(objects)
	}
	if o.allow = allow; o.ask != nil {
		o.head.Ask(o.answer)
	}
}

// answer returns the result for a want that report.Sources.Ask knows.
func (o *RemoteSources) answer(a remote.Asked) (remote.Entry, bool) {
	var lock remote.Lock
	if err := json.Unmarshal(o.ask(encode(remote.Request{Wants: []remote.Asked{a}, Allow: o.allow})), &lock); err != nil || len(lock) != 1 || lock[0].Want != a.Want {
		return remote.Entry{}, false
	}
	return lock[0], true
}

// Answers are what report.Sources.Ask answered in a check. Its result counts while they are the same.
type Answers struct {
	Request, Lock json.RawMessage
}

// Answers returns the answers so far, nil where there are none.
func (o *RemoteSources) Answers() *Answers {
	if o.head == nil || len(o.head.Told()) == 0 {
		return nil
	}
	told, request, lock := o.head.Told(), remote.Request{Allow: o.allow}, remote.Lock{}
	for _, a := range slices.SortedFunc(maps.Keys(told), func(a, b remote.Asked) int { return remote.Compare(a.Want, b.Want) }) {
		request.Wants, lock = append(request.Wants, a), append(lock, told[a])
	}
	return &Answers{encode(request), encode(lock)}
}

// encode encodes a request or a lock, which have only texts and truth values.
func encode[T remote.Request | remote.Lock](v T) json.RawMessage {
	data, _ := json.Marshal(v)
	return data
}

// Same reports whether the answers are the same now.
func (a *Answers) Same(s *report.Sources) bool {
	return a == nil || s != nil && s.Ask != nil && bytes.Equal(s.Ask(a.Request), a.Lock)
}

// Sources returns the sources for rendering the base and the head. Each records what its side needs.
func (o *RemoteSources) Sources() (base, head *remote.Sources) { return o.base, o.head }

// Lookups returns the sources for rendering what policies look up, which record separately what they need.
func (o *RemoteSources) Lookups() (base, head *remote.Sources) { return o.lookups[0], o.lookups[1] }

// Preview returns the sources for previewing the head, which record separately what they need.
func (o *RemoteSources) Preview() *remote.Sources { return o.preview }

// Wanted returns a remote.Request for the sources that must be fetched before there can be a result; nil if there are
// none.
func (o *RemoteSources) Wanted() json.RawMessage { return o.request(asked(o.Sources())) }

// LookupsWanted is Wanted for objects that policies look up.
func (o *RemoteSources) LookupsWanted() json.RawMessage { return o.request(asked(o.Lookups())) }

// PreviewWants reports whether PreviewWanted returns a request.
func (o *RemoteSources) PreviewWants() bool { return !o.last && len(o.preview.Wanted()) > 0 }

// PreviewWanted is Wanted for a preview.
func (o *RemoteSources) PreviewWanted() json.RawMessage {
	return o.request(report.Mapped(o.preview.Wanted(), func(w remote.Want) remote.Asked { return remote.Asked{Want: w, Preview: true} }))
}

func (o *RemoteSources) request(wants []remote.Asked) json.RawMessage {
	if o.last || len(wants) == 0 {
		return nil
	}
	return encode(remote.Request{Wants: wants, Allow: o.allow})
}

// asked returns what both sides want.
func asked(base, head *remote.Sources) []remote.Asked {
	shared := base.Wanted()
	list := report.Mapped(shared, func(w remote.Want) remote.Asked {
		return remote.Asked{Want: w, Base: true, Given: base.IsGiven(w)}
	})
	for _, w := range head.Wanted() {
		if !slices.Contains(shared, w) {
			list = append(list, remote.Asked{Want: w, Given: head.IsGiven(w)})
		}
	}
	return list
}
