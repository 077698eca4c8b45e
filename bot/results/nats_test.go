package results

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/lintel-bot/lintel/bot/store"
)

func natsLimits() Limits { return Limits{Bytes: 64 << 20, Age: time.Hour} }

// inQueue returns a store in the same NATS server as the jobs, as in the server.
func inQueue(q *store.Queue, l Limits) *Store {
	return NewStore(q.Bucket("RESULTS", l.IndexBytes(), l.Age), q.Bucket("REPORTS", l.DataBytes(), l.Age), l, time.Now)
}

func openQueue(t *testing.T, c store.Config) *store.Queue {
	t.Helper()
	q, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// large returns a result whose report has size bytes that do not compress well.
func large(n, size int) *Stored {
	r := resultOf(fmt.Sprint(n), headA, time.Now())
	r.Pull.Number = n + 1
	noise := make([]byte, size)
	_, _ = rand.Read(noise)
	r.Report.Findings[0].Message = hex.EncodeToString(noise)
	return r
}

const childDir = "LINTEL_RESULTS_TEST_DIR"

// TestMain lets the test binary also be the process that is killed while it stores results.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	q, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := inQueue(q, natsLimits())
	for n := range 1000 {
		if err := s.Put(context.Background(), large(n, 400_000)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("stored")
	}
}

// Stored results are whole after the process is killed while it stores the next one.
func TestSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	stored := 0
	for round := range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for n := range 2 + round {
			if line, err := lines.ReadString('\n'); line != "stored\n" {
				t.Errorf("the child said %q, %v", line, err)
			}
			stored = max(stored, n+1)
		}
		<-time.After(time.Duration(round) * 7 * time.Millisecond) // at different moments while it stores the next result
		_ = child.Process.Kill()
		_ = child.Wait()

		q := openQueue(t, store.Config{Dir: dir})
		s := inQueue(q, natsLimits())
		for n := range stored + 5 {
			m, err := s.Meta(t.Context(), 11, headA, ID(fmt.Sprint(n)))
			if errors.Is(err, ErrNone) && n >= stored {
				continue
			}
			if err != nil {
				t.Fatalf("round %d, result %d: %v", round, n, err)
			}
			if r, err := s.Load(t.Context(), m); err != nil || r.Report == nil {
				t.Errorf("round %d, result %d is not whole: %v", round, n, err)
			}
		}
		put(t, s, large(stored, 1000))
		o, err := s.Overview(t.Context(), 11)
		if err != nil || len(o.Pulls) < stored {
			t.Errorf("round %d: %v, %+v", round, err, o)
		}
		q.Close()
	}
}

// A result that one replica stored is visible to the others at once, and after all of them restart.
func TestReplicasShare(t *testing.T) {
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	config := store.Config{URL: n.ClientURL()}
	first, second := openQueue(t, config), openQueue(t, config)
	a, b := inQueue(first, natsLimits()), inQueue(second, natsLimits())
	r := large(0, 1_500_000) // more than one value
	put(t, a, r)
	if got := load(t, b, 11, headA, r.ID); got.Report == nil || got.Report.Title != "2 violations" || r.Parts.Count < 2 {
		t.Errorf("the other replica has %+v", got)
	}
	put(t, b, large(1, 1000))
	if o, err := a.Overview(t.Context(), 11); err != nil || len(o.Pulls) != 2 {
		t.Errorf("%v, %+v", err, o)
	}
	if all, err := a.OfHead(t.Context(), 11, headA); err != nil || len(all) != 2 || all[0].ID != ID("1") {
		t.Errorf("%v, %+v", err, all)
	}
	if all, err := b.Organisation(t.Context(), "octo-org"); err != nil || len(all) != 1 {
		t.Errorf("%v, %+v", err, all)
	}
	first.Close()
	second.Close()
	c := inQueue(openQueue(t, config), natsLimits())
	if got := load(t, c, 11, headA, r.ID); got.Report == nil {
		t.Error("nothing is there after a restart")
	}
	gone, err := c.summary(t.Context(), 11)
	if err == nil {
		err = c.drop(t.Context(), gone)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Meta(t.Context(), 11, headA, r.ID); !errors.Is(err, ErrNone) {
		t.Errorf("dropped: %v", err)
	}
	if all, err := c.OfHead(t.Context(), 11, headA); err != nil || len(all) != 0 {
		t.Errorf("dropped: %v, %+v", err, all)
	}
}

// All results together stay within Limits.Bytes: the oldest reports are removed, and their pages say so.
func TestBytesLimitRemovesOldestReports(t *testing.T) {
	q := openQueue(t, store.Config{Dir: t.TempDir()})
	limits := Limits{Bytes: 4 << 20, Age: time.Hour}
	s := inQueue(q, limits)
	const count = 30
	for n := range count {
		put(t, s, large(n, 200_000))
	}
	whole := 0
	for n := range count {
		r := load(t, s, 11, headA, ID(fmt.Sprint(n)))
		if r.Report != nil {
			whole++
		} else if n == count-1 {
			t.Error("the newest is gone")
		} else if whole > 0 {
			t.Errorf("result %d is gone, and an older one is there", n)
		}
	}
	if whole < 10 || whole > 17 {
		t.Errorf("%d results of 0.2 MB are kept in %d bytes", whole, limits.DataBytes())
	}
}
