package variable

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/lintel-bot/lintel/engine/jmespath"
)

func query(t *testing.T, s *Scope, expression string) any {
	t.Helper()
	v, err := s.Query(expr(t, expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func expr(t *testing.T, expression string) *jmespath.Expression {
	t.Helper()
	e, err := jmespath.Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestScopeSet(t *testing.T) {
	root := map[string]any{"a": map[string]any{"x": "1"}}
	s := NewScope(context.Background(), root, jmespath.Env{}, nil)
	if got := query(t, s, "a.x"); got != "1" {
		t.Errorf("a.x = %v", got)
	}
	s.Set("a.y", "2")
	s.Set("n.m.o", "3")
	if got, want := query(t, s, "[a.x, a.y, n.m.o]"), []any{"1", "2", "3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.Set("a", "new")
	if got := query(t, s, "a"); got != "new" {
		t.Errorf("a = %v, want the later definition", got)
	}
	if want := (map[string]any{"a": map[string]any{"x": "1"}}); !reflect.DeepEqual(root, want) {
		t.Errorf("the root became %v", root)
	}
	if got, want := query(t, s, "@"), (map[string]any{"a": "new",
		"n": map[string]any{"m": map[string]any{"o": "3"}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("@ = %v, want %v", got, want)
	}
}

func TestScopeChild(t *testing.T) {
	s := NewScope(context.Background(), nil, jmespath.Env{}, nil)
	s.Set("a", "parent")
	loads := 0
	s.Lazy("slow", func(*Scope) (any, error) { loads++; return "loaded", nil })
	first, second := s.Child(), s.Child()
	first.Set("a", "child")
	first.Set("element", "1")
	if got := query(t, first, "[a, element, slow]"); !reflect.DeepEqual(got, []any{"child", "1", "loaded"}) {
		t.Errorf("first child: %v", got)
	}
	if got := query(t, second, "[a, element, slow]"); !reflect.DeepEqual(got, []any{"parent", nil, "loaded"}) {
		t.Errorf("second child: %v", got)
	}
	if got := query(t, s, "[a, element, slow]"); !reflect.DeepEqual(got, []any{"parent", nil, "loaded"}) {
		t.Errorf("parent: %v", got)
	}
	if loads != 1 {
		t.Errorf("loaded %d times, want once", loads)
	}
}

func TestScopeLazy(t *testing.T) {
	s := NewScope(context.Background(), map[string]any{"x": int64(1)}, jmespath.Env{}, nil)
	s.Lazy("never", func(*Scope) (any, error) { t.Error("loaded without use"); return nil, nil })
	// Each definition sees the one before it.
	next := func(before *Scope) (any, error) { return before.Query(expr(t, "add(x, `1`)")) }
	s.Lazy("x", next)
	s.Lazy("x", next)
	s.Lazy("y", func(before *Scope) (any, error) { return before.Query(expr(t, "[x, later]")) })
	s.Set("later", "no")
	if got := query(t, s, "[x, y]"); !reflect.DeepEqual(got, []any{int64(3), []any{int64(3), nil}}) {
		t.Errorf("got %v", got)
	}
	s.Set("x", "redefined")
	if got := query(t, s, "x"); got != "redefined" {
		t.Errorf("x = %v", got)
	}
}

func TestScopeLazyError(t *testing.T) {
	s := NewScope(context.Background(), nil, jmespath.Env{}, nil)
	failure, loads := errors.New("no such thing"), 0
	s.Lazy("bad", func(*Scope) (any, error) { loads++; return nil, failure })
	for range 2 {
		if _, err := s.Query(expr(t, "bad.a || 'x'")); !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
	}
	if loads != 1 {
		t.Errorf("loaded %d times, want once", loads)
	}
	s.Set("bad", "good")
	if got := query(t, s, "bad"); got != "good" {
		t.Errorf("bad = %v", got)
	}
}

func TestScopeLazyDotted(t *testing.T) {
	s := NewScope(context.Background(), map[string]any{"a": map[string]any{"x": "1"}}, jmespath.Env{}, nil)
	s.Lazy("a.b", func(before *Scope) (any, error) { return before.Query(expr(t, "a.x")) })
	if got := query(t, s, "a"); !reflect.DeepEqual(got, map[string]any{"x": "1", "b": "1"}) {
		t.Errorf("a = %v", got)
	}
}

func TestScopeReads(t *testing.T) {
	s := NewScope(context.Background(), map[string]any{"request": map[string]any{"a": "x"}}, jmespath.Env{}, nil)
	s.Lazy("bad", func(*Scope) (any, error) { return nil, errors.New("no") })
	if got, want := s.Reads(expr(t, "request.a == request.b")),
		[]string{"/request/a", "/request/b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.Reads(expr(t, "bad")); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}
