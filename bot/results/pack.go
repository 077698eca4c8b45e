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

// unpack reads a report. One of another version is read as far as it can be: what has another type by now stays empty.
func unpack(data []byte) (*report.Report, error) {
	var rep report.Report
	err := json.Unmarshal(data, &rep)
	var other *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &other) {
		return nil, fmt.Errorf("unpacking a report: %w", err)
	}
	return &rep, nil
}

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return b.Bytes(), nil
}

// decompress fails on what has another size than it should have.
func decompress(data []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(out) != size {
		err = errors.New("the size is wrong")
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}

// decompressAny is decompress for what may have any size up to a limit.
func decompressAny(data []byte, limit int64) ([]byte, error) {
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
