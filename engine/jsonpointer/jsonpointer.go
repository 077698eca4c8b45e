// Package jsonpointer walks JSON values by JSON Pointers (RFC 6901). How a token is escaped is go-openapi's knowledge;
// its own walk is by reflection, which evaluation has no time for.
package jsonpointer

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
)

// Escape returns a key as it is written in a pointer.
func Escape(key string) string { return jsonpointer.Escape(key) }

// Unescape returns the key that a token of a pointer stands for.
func Unescape(token string) string {
	if strings.IndexByte(token, '~') < 0 { // the replacer allocates all the same
		return token
	}
	return jsonpointer.Unescape(token)
}

// Tokens yields the keys and indexes of a pointer, unescaped.
func Tokens(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for pointer != "" {
			var token string
			if token, pointer = next(pointer); !yield(token) {
				return
			}
		}
	}
}

// next takes the first token off a pointer that is not empty.
func next(pointer string) (token, rest string) {
	token = pointer[1:]
	if end := strings.IndexByte(token, '/'); end >= 0 {
		token, rest = token[:end], token[end:]
	}
	return Unescape(token), rest
}

// Join returns the pointer of the given keys and indexes.
func Join(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(Escape(token))
	}
	return b.String()
}

// Index returns the index that a token is in a list of a length; ok is false where the list has no such element.
func Index(token string, length int) (i int, ok bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < length
}

// Child returns the entry of a map or the element of a list that an unescaped token names.
func Child(value any, token string) (child any, ok bool) {
	switch value := value.(type) {
	case map[string]any:
		child, ok = value[token]
	case []any:
		var i int
		if i, ok = Index(token, len(value)); ok {
			child = value[i]
		}
	}
	return child, ok
}

// Lookup returns the value behind a pointer. ok is false where there is none, or the text is not a pointer.
func Lookup(value any, pointer string) (found any, ok bool) {
	if pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	for pointer != "" {
		var token string
		token, pointer = next(pointer)
		if value, ok = Child(value, token); !ok {
			return nil, false
		}
	}
	return value, true
}

// At returns the value behind a pointer, nil where there is none.
func At(value any, pointer string) any {
	found, _ := Lookup(value, pointer)
	return found
}

// Walk visits a JSON value and everything in it, parents first. at is the pointer of the value.
func Walk(value any, at string, visit func(pointer string, value any)) {
	visit(at, value)
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			Walk(child, at+"/"+Escape(key), visit)
		}
	case []any:
		for i, child := range value {
			Walk(child, at+"/"+strconv.Itoa(i), visit)
		}
	}
}

// Copy returns a deep copy of a JSON value, with the result of change in place of each key, which has to stay text, and of
// each scalar.
func Copy(value any, change func(any) any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, child := range value {
			out[change(key).(string)] = Copy(child, change) //nolint:forcetypeassert // see above
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, child := range value {
			out[i] = Copy(child, change)
		}
		return out
	}
	return change(value)
}

// List returns a list with the elements of a slice.
func List[T any](of []T) []any {
	out := make([]any, len(of))
	for i, v := range of {
		out[i] = v
	}
	return out
}

// Object returns an object with the entries of a map.
func Object[T any](of map[string]T) map[string]any {
	out := make(map[string]any, len(of))
	for k, v := range of {
		out[k] = v
	}
	return out
}

// Below returns what a pointer adds to another one; ok is false where it does not point into that one's value.
func Below(pointer, parent string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(pointer, parent)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// Error describes what is wrong with the value behind a pointer of a document.
type Error struct{ Pointer, Message string }

// Errorf returns an [Error] with a formatted message.
func Errorf(pointer, format string, args ...any) error {
	return &Error{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// Dotted returns an RFC 6901 pointer as people write a field: spec.containers[0].image,
// labels["app.kubernetes.io/name"].
func Dotted(pointer string) string {
	var b strings.Builder
	for token := range Tokens(pointer) {
		_, isIndex := Index(token, 1<<30)
		switch {
		case isIndex:
			b.WriteString("[" + token + "]")
		case b.Len() > 0 && strings.ContainsAny(token, "./[]\" \n"):
			fmt.Fprintf(&b, "[%q]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// Distinct sorts pointers and drops duplicates, and the whole value if there are others.
func Distinct(pointers []string) []string {
	slices.Sort(pointers)
	pointers = slices.Compact(pointers)
	if len(pointers) > 1 && pointers[0] == "" {
		pointers = pointers[1:]
	}
	return pointers
}
