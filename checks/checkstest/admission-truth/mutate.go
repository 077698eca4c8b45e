package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// texts are what a text is replaced with.
var texts = []any{"", " ", "-a", "a-", "A", "a b", "a_b", "a/b", "../a", "/a", "a:b", "a.b", "a..b", "0", "-1", "100%",
	"101%", "1.5", "1Gi", "*", "*.a", "300.1.1.1", "10.0.0.0/33", "http", "none", "None", "é", "\n",
	strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("a/", 600), int64(7), true, []any{}, map[string]any{}}

// numbers are what a number is replaced with.
var numbers = []any{int64(-1), int64(0), int64(1), int64(65536), int64(1) << 31, int64(1) << 40, 1.5, "1", "a", "50%",
	false, []any{int64(1)}, map[string]any{}}

// worsen changes one field of an object and says what it did.
func worsen(random *rand.Rand, o map[string]any) string {
	for {
		pointer, value := step(random, "", o)
		if pointer == "" || pointer == "/kind" || pointer == "/apiVersion" || pointer == "/metadata/namespace" {
			continue
		}
		new, set := change(random, value)
		if put(o, pointer, new, set) {
			if !set {
				return "without " + pointer
			}
			text, _ := doc.Print(new)
			return fmt.Sprintf("%s is %.200s", pointer, strings.Join(strings.Fields(string(text)), " "))
		}
	}
}

// step goes down an object, to any field of it.
func step(random *rand.Rand, pointer string, value any) (string, any) {
	switch v := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) > 0 && random.IntN(5) > 0 {
			key := keys[random.IntN(len(keys))]
			return step(random, pointer+"/"+jsonpointer.Escape(key), v[key])
		}
	case []any:
		if len(v) > 0 && random.IntN(3) > 0 {
			i := random.IntN(len(v))
			return step(random, pointer+"/"+strconv.Itoa(i), v[i])
		}
	}
	return pointer, value
}

// change returns what takes the place of a value; set is false where nothing does.
func change(random *rand.Rand, value any) (new any, set bool) {
	if random.IntN(4) == 0 {
		return nil, false
	}
	switch v := value.(type) {
	case map[string]any:
		switch random.IntN(4) {
		case 0:
			return map[string]any{}, true
		case 1:
			return "a", true
		}
		out := maps.Clone(v)
		out[[]string{"unknown", "a b", "-a", "a/b/c", "app"}[random.IntN(5)]] = "a"
		return out, true
	case []any:
		if len(v) == 0 || random.IntN(5) == 0 {
			return []any{}, true
		}
		return append(slices.Clone(v), v[random.IntN(len(v))]), true
	case string:
		return texts[random.IntN(len(texts))], true
	case bool:
		return []any{!v, !v, "true", int64(0)}[random.IntN(4)], true
	}
	return numbers[random.IntN(len(numbers))], true
}
