package env

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// world answers questions from a map.
type world map[Question]string

func (w world) Answer(q Question) string { return w[q] }

func TestResultIsValidWhileItsAnswersAreTheSame(t *testing.T) {
	now := world{{Content, "a"}: "1", {Source, "b"}: "2"}
	for _, disk := range []bool{false, true} {
		dir := t.TempDir()
		open := func() *Memory {
			m := &Memory{Scope: "s"}
			if disk {
				d, err := OpenDisk(dir, 0)
				if err != nil {
					t.Fatal(err)
				}
				m.Disk = d
			}
			return m
		}
		m := open()
		Put(m, Table{Name: "t"}, "k", Asked(maps.Clone(now)), []string{"value"})
		if disk {
			m.Save()
			m = open()
		}
		if got, ok := Get[[]string](m, Table{Name: "t"}, "k", now); !ok || len(got) != 1 || got[0] != "value" {
			t.Errorf("disk %t: got %v, %t", disk, got, ok)
		}
		for q := range now {
			other := maps.Clone(now)
			other[q] += "x"
			if _, ok := Get[[]string](m, Table{Name: "t"}, "k", other); ok {
				t.Errorf("disk %t: %v has another answer, and the value counts", disk, q)
			}
		}
		if _, ok := Get[[]string](m, Table{Name: "t"}, "other", now); ok {
			t.Error("another key has the value")
		}
	}
}

func TestUnansweredQuestionsAreAskedAgain(t *testing.T) {
	now := world{{Content, "a"}: Unanswered}
	m := &Memory{}
	Put(m, Table{Name: "t"}, "k", Asked(now), 1)
	if _, ok := Get[int](m, Table{Name: "t"}, "k", now); ok {
		t.Error("a value counts that rests on what could not be read")
	}
}

func TestNewestResultsOfAKeyStay(t *testing.T) {
	m := &Memory{}
	for i := range maxVersions + 1 {
		Put(m, Table{Name: "t"}, "k", Asked{{Content, "a"}: string(rune('0' + i))}, i)
	}
	for i := range maxVersions + 1 {
		got, ok := Get[int](m, Table{Name: "t"}, "k", world{{Content, "a"}: string(rune('0' + i))})
		if ok != (i > 0) || ok && got != i {
			t.Errorf("version %d: got %d, %t", i, got, ok)
		}
	}
}

// Values that JSON would change come back the same from the disk; what cannot be encoded stays in the process.
func TestValuesFromDiskAreTheSame(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDisk(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	type value struct {
		Any  any
		List []int
		Map  map[string]any
		Call func() `json:",omitempty"`
	}
	for i, want := range []any{"\xff", 1.0, int64(1), uint8(1), true, nil, []any{}, map[string]any{"a": []any{nil, 2.5, "1"}}} {
		first := &Memory{Disk: d, Scope: strconv.Itoa(i)}
		Put(first, Table{Name: "t"}, "k", nil, map[string]any{"v": want})
		first.Save()
		got, ok := Get[map[string]any](&Memory{Disk: d, Scope: strconv.Itoa(i)}, Table{Name: "t"}, "k", world{})
		if number, is := want.(uint8); is {
			want = int64(number) // an integer in an any has no size
		}
		if !ok || !reflect.DeepEqual(got, map[string]any{"v": want}) {
			t.Errorf("got %#v, %t; want %#v", got, ok, want)
		}
	}
	for i, want := range []value{{}, {Any: "a", List: []int{}, Map: map[string]any{}}} {
		first := &Memory{Disk: d, Scope: "plain" + strconv.Itoa(i)}
		Put(first, Table{Name: "t"}, "k", nil, want)
		if got, ok := Get[value](first, Table{Name: "t"}, "k", world{}); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("in the process: got %#v, %t; want %#v", got, ok, want)
		}
		first.Save()
		if _, ok := Get[value](&Memory{Disk: d, Scope: "plain" + strconv.Itoa(i)}, Table{Name: "t"}, "k", world{}); ok {
			t.Errorf("a value with a function was written: %#v", want)
		}
	}
}

// A damaged table is ignored: no wrong value is read from it, however it is damaged.
func TestDamagedTableGivesNoWrongValues(t *testing.T) {
	for _, of := range []Table{{Name: "t"}, {Name: "t", Apart: true}} {
		dir := t.TempDir()
		d, err := OpenDisk(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		now := world{{Content, "a"}: "1"}
		m := &Memory{Disk: d}
		Put(m, of, "k", Asked(now), "value")
		m.Save()
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if got, ok := Get[string](&Memory{Disk: d}, of, "k", now); !ok || got != "value" {
			t.Fatalf("the whole table has %q, %t", got, ok)
		}
		whole, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			flipped := slices.Clone(whole)
			flipped[i] ^= 1
			for _, damaged := range [][]byte{whole[:i], flipped} {
				if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				if got, ok := Get[string](&Memory{Disk: d}, of, "k", now); ok {
					t.Fatalf("%+v: byte %d: %q comes from a damaged table", of, i, got)
				}
			}
		}
	}
}
