package results

import (
	"context"
	"errors"
	"time"
)

// lookupResult is what the store said: a T of lookup, or nil where there is none.
type lookupResult struct{ value any }

// The sizes of what is kept, about; more than it is rather than less.
const (
	baseSize  = 2 << 10
	pointSize = 64
)

func (l lookupResult) size() int64 {
	switch v := l.value.(type) {
	case []*Summary:
		n := int64(baseSize)
		for _, s := range v {
			n += s.size()
		}
		return n
	case []*PreviewResult:
		return int64(baseSize * (1 + len(v)))
	case []Meta:
		return int64(baseSize * (1 + len(v)))
	case *Summary:
		return v.size()
	}
	return baseSize
}

func (s *Summary) size() int64 {
	if s == nil {
		return baseSize
	}
	return int64(baseSize + pointSize*len(s.Trend))
}

// cachedLookup asks the store, or remembers what it said a moment ago; ErrNone is remembered, too.
func cachedLookup[T any](ctx context.Context, h *Handler, key string, life time.Duration,
	ask func(context.Context) (T, error)) (T, error) {
	got, err := h.looks.get(ctx, key, life, func(ctx context.Context) (lookupResult, error) {
		value, err := ask(ctx)
		if errors.Is(err, ErrNone) {
			return lookupResult{}, nil
		}
		return lookupResult{value}, err
	})
	value, ok := got.value.(T)
	if err == nil && !ok {
		err = ErrNone
	}
	return value, err
}
