package jmespath

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"a", "a.b[0].c", "a[?b == 'c'].d | [0]", "{a: b, c: [d, e]}", "not_null(a, `1`)", "sort_by(a, &b)", `'\\'`, "'a\\'b'",
		"`{\"a\": [1, 2.5]}`", "random('[a-z]{3}')", "add('1Ki', '1')", "@", "a[::-1]", "*.*", "map(&a, @)",
		"time_parse('1', '2')",
		"parse_yaml('a: [1]')", "items(@, 'k', 'v')", "add('1e999999999', '1')", "semver_compare('1', '>x')",
		"x509_decode('')",
		"regex_replace_all('(a)', 'aaa', '$1$1')", "let $a = b in c", "a * b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := Compile(source)
		if err != nil {
			syntax, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("%T is not a *SyntaxError", err)
			}
			if syntax.Offset < 0 || syntax.Offset > len(source) {
				t.Fatalf("offset %d is outside of %q", syntax.Offset, source)
			}
			return
		}
		data := testData(t)
		first, err1 := e.Search(context.Background(), data, testEnv)
		second, err2 := e.Search(context.Background(), data, testEnv)
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, then %v", source, err1, err2)
		}
		if a, err := json.Marshal(first); err == nil {
			if b, err := json.Marshal(second); err != nil || string(a) != string(b) {
				t.Fatalf("%q: %s, then %s", source, a, b)
			}
		}
		for _, p := range e.Reads(data) {
			if p != "" && p[0] != '/' {
				t.Fatalf("%q reads %q, which is no pointer", source, p)
			}
		}
		if !reflect.DeepEqual(data, testData(t)) {
			t.Fatalf("%q changed the data", source)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	data := testData(b)
	for name, expression := range map[string]string{
		"field":      "request.object.metadata.name",
		"missing":    "request.object.metadata.labels.missing || ''",
		"projection": "request.object.spec.[initContainers, containers][].image",
		"filter":     "request.object.spec.containers[?securityContext.privileged == `true`].name | length(@)",
		"regex":      "regex_match('^[a-z]+$', request.object.metadata.name)",
	} {
		e, err := Compile(expression)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Search(context.Background(), data, testEnv); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
