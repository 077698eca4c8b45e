package results

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// essential are the fields of a report without which there is no page; the others may be left out of one that is too
// large, the largest first: rendered differences before all.
func essential() []string {
	return []string{"conclusion", "title", "all", "findings", "errors", "warnings", "notChecked", "exceptions",
		"approvers", "stats", "about", "until", "clusters", "upkeep", "outside", "active"}
}

// excerpts is the field that is left out last: the source lines of the findings.
const excerpts = "excerpts"

// pack returns a report as JSON of at most limit bytes, and sets what of it was left out.
func pack(m *Meta, rep *report.Report, limit int) ([]byte, error) {
	m.LeftOut, m.TooLarge = nil, false
	data, err := json.Marshal(rep)
	if err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	if len(data) <= limit {
		return data, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	size := len(data)
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(fields)), func(name string) bool {
		return slices.Contains(essential(), name)
	})
	slices.SortFunc(drop, func(a, b string) int {
		return cmp.Or(compareBool(a == excerpts, b == excerpts), cmp.Compare(len(fields[b]), len(fields[a])),
			cmp.Compare(a, b))
	})
	for _, name := range drop {
		if size <= limit {
			break
		}
		size -= len(fields[name]) + len(name) + len(`"":,`)
		delete(fields, name)
		m.LeftOut = append(m.LeftOut, name)
	}
	if data, err = json.Marshal(fields); err == nil && len(data) > limit {
		m.LeftOut, m.TooLarge = nil, true
		data, err = json.Marshal(&report.Report{Conclusion: rep.Conclusion, Title: rep.Title, All: rep.All,
			Stats: rep.Stats})
	}
	if err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	return data, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// readJSON reads what was stored. What another version stored is read as far as it can be: what has another type by now stays
// empty.
func readJSON(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // into memory, which does not fail
	_ = w.Close()
	return b.Bytes()
}

// decompress reads no more than a limit.
func decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
