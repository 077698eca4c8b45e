package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
)

// protocol is the version of the frames. Parent and child are the same binary, so another version means that another
// program answers.
const protocol = 8

// maxRequest is the maximum size of a frame to the child.
const maxRequest = 16 << 20

// setup is the first frame to the child: the limits and access rules that the child sets for itself.
type setup struct {
	Protocol int   `json:"protocol"`
	Confine  bool  `json:"confine"` // false only where Serve runs within a test
	Memory   int64 `json:"memory"`  // bytes
	Output   int64 `json:"output"`  // bytes of one answer
	Seconds  int64 `json:"seconds"` // wall-clock limit of one job, rounded up

	Git   string   `json:"git"`   // the program that may be run
	Read  []string `json:"read"`  // files and folders that may be read
	Write []string `json:"write"` // folders that may be written
}

// ready is the child's answer to setup.
type ready struct {
	Protocol int      `json:"protocol"`
	Lacks    []string `json:"lacks,omitempty"` // the parts of the sandbox that the child could not set up
}

// request is a job: a change, or a query about its head.
type request struct {
	Inspect bool           `json:"inspect,omitempty"` // inspect the change instead of checking it
	Change  *report.Change `json:"change"`
	Query   *report.Query  `json:"query,omitempty"`
	Steps   bool           `json:"steps,omitempty"` // send frames with a Step before the answer
	Asks    bool           `json:"asks,omitempty"`  // send frames with an Ask for what report.Sources.Ask knows
}

// known is the reply to a frame with an Ask.
type known struct {
	Lock json.RawMessage `json:"lock"`
}

// answer is the result of a job: exactly one of Inspection, Report, Showing and Failed. A frame with a Step only
// reports progress, one with an Ask waits for the reply, and the answer follows.
type answer struct {
	Step       *progress.Step     `json:"step,omitempty"`
	Ask        json.RawMessage    `json:"ask,omitempty"`
	Inspection *report.Inspection `json:"inspection,omitempty"`
	Report     *report.Report     `json:"report,omitempty"`
	Showing    *report.Showing    `json:"showing,omitempty"`
	Failed     *Failed            `json:"failed,omitempty"`
	Memory     int64              `json:"memory"` // bytes the child holds after the job
}

// text returns the field of a frame's value that is sent behind the JSON: megabytes of YAML are slow to encode as a
// JSON string. It returns nil for values without such a field.
func text(v any) *[]byte {
	switch a := v.(type) {
	case answer:
		return text(&a)
	case *answer:
		if a.Showing != nil {
			return &a.Showing.Text
		}
	}
	return nil
}

var errNotFrame = errors.New("not a frame of the sandbox")

// tooLargeError is the error for a frame over its limit.
type tooLargeError struct {
	size, limit int64
	sending     bool
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("a frame of %d bytes is over the limit of %d", e.size, e.limit)
}

// magic begins every frame, to tell frames from other output.
var magic = [4]byte{'l', 'n', 't', '1'}

// writeFrame writes v as one frame: four bytes of magic, the length as 32 bits big-endian, a line of JSON, and the
// text. It writes nothing if the frame is over the limit.
func writeFrame(w io.Writer, v any, limit int64) error {
	var b bytes.Buffer
	b.Write(magic[:])
	b.Write(make([]byte, 4))
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if t := text(v); t != nil {
		b.Write(*t)
	}
	n := int64(b.Len() - 8)
	if n > min(limit, 1<<31) {
		return &tooLargeError{size: n, limit: limit, sending: true}
	}
	binary.BigEndian.PutUint32(b.Bytes()[4:8], uint32(n))
	_, err := w.Write(b.Bytes())
	return err
}

// readFrame reads one frame into v. The error is io.EOF at a clean end, io.ErrUnexpectedEOF within a frame,
// *tooLargeError, or one that wraps errNotFrame. It allocates memory for the received bytes, not for the claimed
// length.
func readFrame(r io.Reader, v any, limit int64) error {
	var head [8]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n > 0 && !bytes.HasPrefix(magic[:], head[:min(n, 4)]) {
			return errNotFrame
		}
		return err
	}
	if [4]byte(head[:4]) != magic {
		return errNotFrame
	}
	n := int64(binary.BigEndian.Uint32(head[4:]))
	if n > limit {
		return &tooLargeError{size: n, limit: limit}
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, n); err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	line, rest, _ := bytes.Cut(b.Bytes(), []byte("\n")) // encoding/json writes no line breaks within a value
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%w: %w", errNotFrame, err)
	}
	switch t := text(v); {
	case t != nil:
		*t = rest
	case len(rest) > 0:
		return fmt.Errorf("%w: something follows", errNotFrame)
	}
	return nil
}
