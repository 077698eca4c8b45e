package results

import (
	"context"
	"errors"
)

// looked is what the store said: a T of lookup, or nil where there is none.
type looked struct{ value any }

// The sizes of what is kept, about; more than it is rather than less.
const (
	entrySize = 1 << 10
	baseSize  = 2 << 10
)

func (l looked) size() int64 {
	switch v := l.value.(type) {
	case *Overview:
		return v.size()
	case []*Overview:
		n := int64(baseSize)
		for _, o := range v {
			n += o.size()
		}
		return n
	case []Meta:
		return int64(baseSize * (1 + len(v)))
	}
	return baseSize
}

func (o *Overview) size() int64 {
	n := baseSize + entrySize*(len(o.Pulls)+len(o.Branch)+len(o.Exceptions)+len(o.NotChecked))
	for _, e := range o.Branch {
		n += 128 * len(e.Violations)
	}
	return int64(n)
}

// lookup asks the store, or remembers what it said a moment ago; ErrNone is remembered, too.
func lookup[T any](ctx context.Context, h *Handler, key string, ask func(context.Context) (T, error)) (T, error) {
	got, err := h.looks.get(ctx, key, lookupLife, func(ctx context.Context) (looked, error) {
		value, err := ask(ctx)
		if errors.Is(err, ErrNone) {
			return looked{}, nil
		}
		return looked{value}, err
	})
	value, ok := got.value.(T)
	if err == nil && !ok {
		err = ErrNone
	}
	return value, err
}
