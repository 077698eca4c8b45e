package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Crash means that the child died or had to be ended: by a limit, a fault, or an invalid answer. The next job gets a
// new child. The same change may crash again.
type Crash struct {
	Reason string // for people, without host paths: "ran out of its memory limit of 2 GiB"
	Err    error  // the cause for logs, may be nil; not part of Error
}

func (e *Crash) Error() string { return "the check " + e.Reason }

// Unwrap returns the cause, which may name host paths: for logs only.
func (e *Crash) Unwrap() error { return e.Err }

// Failed is an error that the check itself returned.
type Failed struct {
	Message  string `json:"message"`
	Panicked bool   `json:"panicked,omitempty"` // it was a recovered panic: a defect of the program
	// Absent contains the ids of objects that the change's repository lacks. Once they are fetched, the job can be
	// repeated.
	Absent []string `json:"absent,omitempty"`
}

func (e *Failed) Error() string { return e.Message }

const reasonProtocol = "answered with something that is not a report"

// postMortem classifies the exit state and last words of a dead child. The words are not passed on, since they may
// quote the repository or name host paths.
func (s *Sandbox) postMortem(c *child) *Crash {
	<-c.exited
	memory := "ran out of its memory limit of " + size(s.cfg.MemoryLimit)
	switch words := c.stderr.cause(); {
	case words == causeMemory:
		return &Crash{Reason: memory}
	case words == causeCPU || c.signal == signalCPU && signalCPU != 0:
		return &Crash{Reason: "used up its processor time"}
	case words != "":
		return &Crash{Reason: "crashed: " + words}
	case c.signal == syscall.SIGKILL: // not our own kill, which is classified elsewhere
		return &Crash{Reason: "was killed by the system, most likely for lack of memory"}
	case c.signal != 0:
		return &Crash{Reason: "was ended by a signal (" + c.signal.String() + ")"}
	}
	return &Crash{Reason: fmt.Sprintf("ended without an answer (exit code %d)", c.code)}
}

const (
	causeMemory = "out of memory"
	causeCPU    = "processor time"
)

// causes maps lines that Go's runtime (or ThreadSanitizer) writes before it ends to our own words, the most informative
// first. A line matches if it begins with one text and contains the other.
var causes = []struct{ begins, contains, words string }{
	{"fatal error: ", "stack overflow", "stack overflow"},
	{"runtime: goroutine stack exceeds", "", "stack overflow"},
	{"fatal error: ", "out of memory", causeMemory},
	{"fatal error: ", "cannot allocate memory", causeMemory},
	{"fatal error: ", "failed to reserve", causeMemory},
	{"fatal error: ", "newosproc", causeMemory}, // no memory for the stack of a thread
	{"runtime: ", "out of memory", causeMemory},
	{"runtime: failed to create new OS thread", "", causeMemory},
	{"runtime/cgo: ", "pthread_create failed", causeMemory},
	{"==", "ThreadSanitizer failed to allocate", causeMemory},
	{"==", "ThreadSanitizer: out of memory", causeMemory},
	{"SIGXCPU", "", causeCPU},
	{"fatal error: ", "concurrent map", "concurrent map access"},
	{"fatal error: ", "all goroutines are asleep", "deadlock"},
	{"fatal error: ", "", "fatal error of the runtime"},
	{"panic: ", "", "panic in the background"},
}

// classify returns our words for a line of the child's stderr, and their rank, lower for more informative ones. The
// words are "" for a line that does not explain an end.
func classify(line string) (words string, rank int) {
	for i, c := range causes {
		if strings.HasPrefix(line, c.begins) && strings.Contains(line, c.contains) {
			return c.words, i
		}
	}
	return "", len(causes)
}

// size formats bytes for people: "2 GiB", "512 MiB".
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[u]
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
