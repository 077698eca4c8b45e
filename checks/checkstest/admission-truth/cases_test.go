package main

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestWritten(t *testing.T) {
	pairs, err := written()
	if err != nil || len(pairs) < 800 {
		t.Fatalf("%d objects, %v", len(pairs), err)
	}
	for _, p := range pairs {
		if p.was != nil && reflect.DeepEqual(p.now, p.was) {
			t.Errorf("%s changes nothing", p.from)
		}
	}
}

func TestWorsen(t *testing.T) {
	pairs, err := written()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		for _, p := range pairs {
			was := runtime.DeepCopyJSON(p.now)
			now, again := runtime.DeepCopyJSON(was), runtime.DeepCopyJSON(was)
			did := worsen(rand.New(rand.NewPCG(seed, seed)), now)
			if worsen(rand.New(rand.NewPCG(seed, seed)), again) != did || !reflect.DeepEqual(now, again) {
				t.Errorf("seed %d does not do the same again: %s", seed, did)
			}
			if !reflect.DeepEqual(was, p.now) {
				t.Errorf("seed %d changes another object, too: %s", seed, did)
			}
		}
	}
}

func TestPatch(t *testing.T) {
	was := map[string]any{"a": int64(1), "b": map[string]any{"c": "d", "e": "f"}, "g": []any{"h"}}
	now := map[string]any{"b": map[string]any{"c": "d"}, "g": []any{}, "i": map[string]any{}}
	want := map[string]any{"a": nil, "b": map[string]any{"c": "d", "e": nil}, "g": []any{}, "i": map[string]any{}}
	if got := patch(now, was); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
