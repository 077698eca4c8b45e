package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	for _, title := range []string{"one", "zwei <&>"} {
		if err := writeFrame(&b, answer{Report: &report.Report{Title: title}}, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	for _, title := range []string{"one", "zwei <&>"} {
		var a answer
		if err := readFrame(&b, &a, 1<<20); err != nil || a.Report.Title != title {
			t.Errorf("%v %v", a, err)
		}
	}
	if err := readFrame(&b, &answer{}, 1<<20); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	var large *tooLargeError
	if err := writeFrame(&b, answer{Report: &report.Report{Title: strings.Repeat("x", 100)}}, 50); !errors.As(err,
		&large) || b.Len() > 0 {
		t.Errorf("over the limit: %v, %d bytes written", err, b.Len())
	}
	for name, tc := range map[string]struct {
		data string
		want error
	}{
		"other text": {"panic: hello", errNotFrame},
		"short text": {"hi", errNotFrame},
		"cut head":   {"lnt1\x00", io.ErrUnexpectedEOF},
		"cut body":   {"lnt1\x00\x00\x00\x05{", io.ErrUnexpectedEOF},
		"bad JSON":   {"lnt1\x00\x00\x00\x01{", errNotFrame},
	} {
		if err := readFrame(strings.NewReader(tc.data), &answer{}, 100); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if err := readFrame(strings.NewReader("lnt1\xff\xff\xff\xff"), &answer{}, 100); !errors.As(err, &large) {
		t.Errorf("large claim: %v", err)
	}
}

func TestServeWithinAProcess(t *testing.T) {
	var in, out bytes.Buffer
	writeFrame(&in, setup{Protocol: protocol, Memory: 1 << 40, Output: 1 << 20}, maxRequest)
	writeFrame(&in, request{Change: &report.Change{Head: "error"}}, maxRequest)
	if err := Serve(t.Context(), &in, &out, actor(act)); err != nil {
		t.Fatal(err)
	}
	var r ready
	var a answer
	if err := errors.Join(readFrame(&out, &r, 100), readFrame(&out, &a, 1000)); err != nil || a.Failed == nil ||
		a.Memory == 0 {
		t.Errorf("%+v %v", a, err)
	}
	if err := Serve(t.Context(), strings.NewReader(""), io.Discard, actor(act)); err != nil {
		t.Errorf("without any frame: %v", err)
	}
	writeFrame(&in, setup{Protocol: protocol + 1}, maxRequest)
	if err := Serve(t.Context(), &in, io.Discard, actor(act)); !errors.Is(err, errNotFrame) {
		t.Errorf("other protocol: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	writeFrame(&in, setup{Protocol: protocol}, maxRequest)
	writeFrame(&in, request{Change: &report.Change{Head: "exit"}}, maxRequest)
	if err := Serve(ctx, &in, io.Discard, actor(act)); err != nil {
		t.Errorf("canceled: %v", err)
	}
}

func TestLastWords(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "# Warning: 'bases' is deprecated\n", ""},
		{"memory", "fatal error: out of memory allocating heap arena metadata\n\nruntime stack:\n", causeMemory},
		{"stack", "runtime: goroutine stack exceeds 16777216-byte limit\nfatal error: stack overflow\n", "stack overflow"},
		{"telling line after a vague one", "panic: x\nfatal error: stack overflow", "stack overflow"},
		{"unknown fatal", "fatal error: /home/jane/secret", "fatal error of the runtime"},
		{"long line", strings.Repeat("x", 5000) + "\nfatal error: out of memory\n", causeMemory},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &lastWords{}
			for i := range tc.text { // byte by byte, because lines may arrive in any pieces
				l.Write([]byte{tc.text[i]})
			}
			if got := l.cause(); got != tc.want {
				t.Errorf("cause %q, want %q", got, tc.want)
			}
			l.Write(bytes.Repeat([]byte("y\n"), keptWords))
			if n := len(l.tail()); n != keptWords {
				t.Errorf("kept %d bytes", n)
			}
			if l.reset(); l.cause() != "" {
				t.Error("reset keeps the cause")
			}
		})
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{2 << 30: "2 GiB", 512 << 20: "512 MiB", 1536 << 20: "1.5 GiB", 10: "10 bytes"} {
		if got := size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	var b bytes.Buffer
	writeFrame(&b, answer{Report: &report.Report{Title: "t"}}, 1000)
	f.Add(b.Bytes())
	f.Add([]byte("lnt1\xff\xff\xff\xff"))
	f.Add([]byte("Warning: text"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var a answer
		if err := readFrame(r, &a, 1000); err == nil && len(data)-r.Len() > 1008 {
			t.Errorf("read %d bytes", len(data)-r.Len())
		}
	})
}
