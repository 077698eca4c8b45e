package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/tree"
)

// TestMain makes the test binary its own child. The first argument selects the role.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "act-as-child":
			if err := Serve(context.Background(), os.Stdin, os.Stdout, actor(act)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(0)
		case "act-as-parent": // runs one job, prints the child's pid, and waits to be killed
			r, err := New(Config{Args: []string{"act-as-child"}}).Run(context.Background(), report.Change{Head: "pid"})
			if err != nil {
				os.Exit(3)
			}
			fmt.Println(r.Title)
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		case "act-as-lintel": // runs real checks
			if err := Serve(context.Background(), os.Stdin, os.Stdout, whole{&checks.Checker{}}); err != nil {
				os.Exit(3)
			}
			os.Exit(0)
		case "act-on-old-kernel":
			actOnOldKernel()
			os.Exit(0)
		case "act-as-idler":
			select {}
		case "act-as-liar":
			fmt.Println("lintel: unknown command")
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var sink [][]byte

// whole does real checks, and supports no queries.
type whole struct{ *checks.Checker }

func (whole) Show(context.Context, report.Query) (*report.Showing, error) {
	return nil, errors.New("not here")
}

// actor implements Checker with a function. Its inspections name one team: the title of the report.
type actor func(ctx context.Context, c report.Change) (*report.Report, error)

func (a actor) Run(ctx context.Context, c report.Change) (*report.Report, error) { return a(ctx, c) }

func (a actor) Show(_ context.Context, q report.Query) (*report.Showing, error) {
	return &report.Showing{Text: []byte(string(q.Show) + " " + q.Git)}, nil
}

func (a actor) Inspect(ctx context.Context, c report.Change) (*report.Inspection, error) {
	rep, err := a(ctx, c)
	if rep == nil {
		return nil, err
	}
	return &report.Inspection{Teams: []string{rep.Title}}, err
}

// act is the check that the child runs. The head commit selects the misbehavior.
func act(ctx context.Context, c report.Change) (*report.Report, error) {
	title := ""
	switch c.Head {
	case "pid":
		title = strconv.Itoa(os.Getpid())
	case "steps":
		progress.From(ctx).Count("rendering", 2).Begin("a")
	case "ask":
		if c.Sources == nil || c.Sources.Ask == nil {
			return &report.Report{Title: "nobody answers"}, nil
		}
		title = string(c.Sources.Ask(json.RawMessage(`"one"`))) + string(c.Sources.Ask(json.RawMessage(`"two"`)))
	case "left asking":
		go c.Sources.Ask(json.RawMessage(`"one"`))
		time.Sleep(20 * time.Millisecond)
		title = "left"
	case "false ask":
		writeFrame(os.Stdout, answer{Ask: json.RawMessage(`"one"`)}, maxRequest)
	case "false step":
		writeFrame(os.Stdout, answer{Step: &progress.Step{Doing: "nothing"}}, maxRequest)
	case "error":
		return nil, errors.New("the head commit is not there")
	case "absent":
		return nil, fmt.Errorf("reading: %w", &tree.AbsentError{GitDir: c.Base, IDs: []string{"x", "y"}})
	case "nothing":
		return nil, nil
	case "panic":
		title = os.Args[len(os.Args)+len(c.Base):][0]
	case "secret panic":
		panic("secret of the repository")
	case "exit":
		os.Exit(7)
	case "background panic":
		go func() { panic("secret of the repository") }()
		select {}
	case "loop":
		for i := 0; ; i++ {
			if i < 0 {
				return nil, nil
			}
		}
	case "bomb":
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			sink = append(sink, b)
		}
	case "hoard":
		b := make([]byte, 96<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		sink = append(sink, b)
		title = strconv.Itoa(os.Getpid())
	case "stack":
		title = strconv.Itoa(dive(1))
	case "garbage":
		fmt.Println("Warning: 'commonLabels' is deprecated.")
	case "short garbage":
		os.Stdout.WriteString("oops")
		os.Exit(0)
	case "huge":
		title = strings.Repeat("x", 2<<20)
	case "huge claim":
		os.Stdout.Write(append(magic[:], 0xff, 0xff, 0xff, 0xff))
		select {}
	case "env":
		e := os.Environ()
		slices.Sort(e)
		title = strings.Join(e, "\n")
	case "leave a file":
		title = fmt.Sprint(os.WriteFile(os.TempDir()+"/left", []byte("x"), 0o600))
	case "list files":
		entries, err := os.ReadDir(os.Getenv("HOME"))
		wd, _ := os.Getwd()
		title = fmt.Sprint(len(entries), err, wd == os.Getenv("HOME"))
	case "http":
		_, err := http.Get(c.User.Login)
		title = fmt.Sprint(errors.Is(err, ErrNetwork))
	case "dns":
		_, err := net.DefaultResolver.LookupHost(ctx, "example.com.")
		title = fmt.Sprint(err)
	case "dial":
		_, err := net.Dial("tcp", c.User.Login)
		title = fmt.Sprint(err != nil)
	case "grandchild":
		cmd := exec.Command("/proc/self/exe", "act-as-idler")
		cmd.Env = []string{}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		title = strconv.Itoa(cmd.Process.Pid)
	case "limits":
		title = limits()
	case "attempt":
		title = fmt.Sprint(attempt(c.Base, c.User.Login))
	}
	return &report.Report{Conclusion: report.Success, Title: title}, nil
}

func dive(n int) int {
	if n == 0 {
		return 0
	}
	var pad [128]int
	pad[n%128] = n
	return dive(n+1) + pad[(n+1)%128]
}

func testSandbox(t *testing.T, change func(*Config)) *Sandbox {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is also git, so that a child may start another process.
	cfg := Config{Args: []string{"act-as-child"}, Git: self, Timeout: time.Minute, MemoryLimit: 256 << 20,
		OutputLimit: 1 << 20}
	if change != nil {
		change(&cfg)
	}
	b := New(cfg)
	t.Cleanup(func() { b.Close() })
	return b
}

func title(t *testing.T, b *Sandbox, head string) string {
	t.Helper()
	r, err := b.Run(t.Context(), report.Change{Head: head})
	if err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	return r.Title
}

func TestChildStaysWarm(t *testing.T) {
	b := testSandbox(t, nil)
	first := title(t, b, "pid")
	if _, err := b.Run(t.Context(), report.Change{Head: "error"}); err == nil {
		t.Fatal("an error of the check was lost")
	}
	if second := title(t, b, "pid"); first != second {
		t.Errorf("pid %s then %s: the child was not kept", first, second)
	}
	if n := b.Restarts(); n != 0 {
		t.Errorf("%d restarts", n)
	}
}

// Steps of a job are reported to a caller that asks for them, and not to others. A child that reports steps unasked
// breaks the protocol.
func TestSteps(t *testing.T) {
	b := testSandbox(t, nil)
	var told []progress.Step
	ctx := progress.With(t.Context(), func(s progress.Step) { told = append(told, s) })
	for range 2 {
		if _, err := b.Run(ctx, report.Change{Head: "steps"}); err != nil {
			t.Fatal(err)
		}
	}
	one := progress.Step{Doing: "rendering", Of: 2, Name: "a"}
	if want := []progress.Step{one, one}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if _, err := b.Run(t.Context(), report.Change{Head: "steps"}); err != nil {
		t.Error(err)
	}
	var crash *Crash
	if _, err := b.Run(t.Context(), report.Change{Head: "false step"}); !errors.As(err, &crash) || crash.Reason != reasonProtocol {
		t.Errorf("a step that nobody asked for: %v", err)
	}
}

// A child may ask which sources are known while it does a job, if somebody answers. A child that asks although nobody
// answers breaks the protocol.
func TestAsks(t *testing.T) {
	b := testSandbox(t, nil)
	asked := func(wants json.RawMessage) json.RawMessage { return json.RawMessage(`["` + string(wants[1:4]) + `"]`) }
	for name, c := range map[string]struct {
		sources *report.Sources
		want    string
	}{
		"somebody answers": {&report.Sources{Ask: asked}, `["one"]["two"]`},
		"nobody answers":   {&report.Sources{}, "nobody answers"},
		"no sources":       {nil, "nobody answers"},
		"nothing is known": {&report.Sources{Ask: func(json.RawMessage) json.RawMessage { return nil }}, "nullnull"},
	} {
		for range 2 {
			rep, err := b.Run(t.Context(), report.Change{Head: "ask", Sources: c.sources})
			if err != nil || rep.Title != c.want {
				t.Errorf("%s: %v, %v", name, rep, err)
			}
		}
	}
	slowly := &report.Sources{Ask: func(json.RawMessage) json.RawMessage {
		time.Sleep(60 * time.Millisecond)
		return json.RawMessage(`[]`)
	}}
	pid := title(t, b, "pid")
	for range 5 { // the reply is not read as the next job
		if rep, err := b.Run(t.Context(), report.Change{Head: "left asking", Sources: slowly}); err != nil || rep.Title != "left" {
			t.Fatalf("a job that still asks at its end: %v, %v", rep, err)
		}
		if now := title(t, b, "pid"); now != pid {
			t.Fatalf("the child %s was replaced by %s", pid, now)
		}
	}
	var crash *Crash
	if _, err := b.Run(t.Context(), report.Change{Head: "false ask"}); !errors.As(err, &crash) || crash.Reason != reasonProtocol {
		t.Errorf("a question that nobody answers: %v", err)
	}
}

// One child does both kinds of jobs, and both fail in the same ways.
func TestInspect(t *testing.T) {
	b := testSandbox(t, nil)
	pid := title(t, b, "pid")
	in, err := b.Inspect(t.Context(), report.Change{Head: "pid"})
	if err != nil || !slices.Equal(in.Teams, []string{pid}) {
		t.Errorf("%+v, %v; want it from the child %s", in, err, pid)
	}
	var failed *Failed
	for head, want := range map[string]string{
		"error": "the head commit is not there", "nothing": "the check ended without a report",
		"secret panic": "the check panicked, which is a defect of Lintel: string",
	} {
		if _, err := b.Inspect(t.Context(), report.Change{Head: head}); !errors.As(err, &failed) || failed.Message != want {
			t.Errorf("%s: %v, want %s", head, err, want)
		}
	}
}

// Every failure is reported with its reason, and a new child does the next job.
func TestFailuresReplaceTheChild(t *testing.T) {
	for _, tc := range []struct {
		head, want string
		replaced   bool
		change     func(*Config)
	}{
		{head: "error", want: "the head commit is not there"},
		{head: "nothing", want: "the check ended without a report"},
		{head: "panic", want: "the check panicked, which is a defect of Lintel: runtime error: index out of range [0] " +
			"with length 0", replaced: true},
		{head: "secret panic", want: "the check panicked, which is a defect of Lintel: string", replaced: true},
		{head: "background panic", want: "the check crashed: panic in the background", replaced: true},
		{head: "exit", want: "the check ended without an answer (exit code 7)", replaced: true},
		{head: "loop", want: "the check took longer than 50ms", replaced: true,
			change: func(c *Config) { c.Timeout = 50 * time.Millisecond }},
		{head: "bomb", want: "the check ran out of its memory limit of 256 MiB", replaced: true},
		{head: "stack", want: "the check crashed: stack overflow", replaced: true},
		{head: "garbage", want: "the check answered with something that is not a report", replaced: true},
		{head: "short garbage", want: "the check answered with something that is not a report", replaced: true},
		{head: "huge claim", want: "the check answered with more than 1 MiB", replaced: true},
		{head: "huge", want: "the report is larger than the limit of 1 MiB"},
	} {
		t.Run(tc.head, func(t *testing.T) {
			b := testSandbox(t, nil)
			before := title(t, b, "pid") // starts the child before a short deadline begins
			if tc.change != nil {
				tc.change(&b.cfg)
			}
			_, err := b.Run(t.Context(), report.Change{Head: tc.head})
			if err == nil || err.Error() != tc.want {
				t.Fatalf("error %v, want %s", err, tc.want)
			}
			var crash *Crash
			var failed *Failed
			if !errors.As(err, &crash) && !errors.As(err, &failed) {
				t.Errorf("error of type %T", err)
			}
			b.cfg.Timeout = time.Minute
			after := title(t, b, "pid")
			if replaced := before != after; replaced != tc.replaced || b.Restarts() != map[bool]int64{true: 1}[replaced] {
				t.Errorf("replaced %t, want %t; %d restarts", replaced, tc.replaced, b.Restarts())
			}
		})
	}
}

func TestHoardingChildIsReplacedAfterTheJob(t *testing.T) {
	if raceDetector {
		t.Skip("the shadow memory of the race detector counts several times what the check holds")
	}
	b := testSandbox(t, func(c *Config) { c.MemoryLimit = 160 << 20 })
	first := title(t, b, "hoard")
	if second := title(t, b, "pid"); first == second {
		t.Error("a child over the soft mark was kept")
	}
}

func TestChildThatDiedBetweenJobsFailsNoJob(t *testing.T) {
	b := testSandbox(t, nil)
	title(t, b, "pid")
	b.idle[0].child.kill()
	<-b.idle[0].child.exited
	title(t, b, "pid")
	if b.Restarts() != 1 {
		t.Errorf("%d restarts", b.Restarts())
	}
}

func TestCancel(t *testing.T) {
	b := testSandbox(t, nil)
	title(t, b, "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Run(ctx, report.Change{Head: "loop"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	var crash *Crash
	canceled, cancelNow := context.WithCancel(t.Context())
	cancelNow()
	if _, err := b.Run(canceled, report.Change{Head: "loop"}); !errors.Is(err, context.Canceled) ||
		errors.As(err, &crash) {
		t.Errorf("error %v", err)
	}
	title(t, b, "pid")
	if b.Restarts() != 0 {
		t.Errorf("%d restarts, but nothing failed", b.Restarts())
	}
}

func TestCloseEndsTheJob(t *testing.T) {
	b := testSandbox(t, nil)
	title(t, b, "pid")
	home, exited := b.idle[0].child.home, b.idle[0].child.exited
	result := make(chan error)
	go func() {
		_, err := b.Run(context.Background(), report.Change{Head: "loop"})
		result <- err
	}()
	go b.Close()
	if err := <-result; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	<-exited
	b.Close()
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the child's folder is still there: %v", err)
	}
	if _, err := b.Run(t.Context(), report.Change{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("LINTEL_GITHUB_WEBHOOK_SECRET", "hunter2")
	t.Setenv("GITHUB_TOKEN", "hunter2")
	b := testSandbox(t, nil)
	var names []string
	for line := range strings.Lines(title(t, b, "env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
		if strings.Contains(value, "hunter2") {
			t.Errorf("%s leaks", name)
		}
	}
	if want := []string{"GOGC", "GOMEMLIMIT", "GOTRACEBACK", "HOME", "LC_ALL", "TMPDIR", "TZ"}; !slices.Equal(names, want) {
		t.Errorf("environment %v, want %v", names, want)
	}
}

func TestFolderIsEmptiedBetweenJobs(t *testing.T) {
	b := testSandbox(t, nil)
	if got := title(t, b, "leave a file"); got != "<nil>" {
		t.Fatalf("writing to the temporary folder: %s", got)
	}
	if got := title(t, b, "list files"); got != "0 <nil> true" {
		t.Errorf("next job sees %s", got)
	}
	if b.Restarts() != 0 {
		t.Error("the child was replaced")
	}
}

func TestNetworkIsDenied(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var log bytes.Buffer
	b := testSandbox(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	r, err := b.Run(t.Context(), report.Change{Head: "http", User: report.User{Login: "http://" + l.Addr().String()}})
	if err != nil || r.Title != "true" {
		t.Errorf("HTTP is not denied: %v %v", r, err)
	}
	if got := title(t, b, "dns"); !strings.Contains(got, "denied") {
		t.Errorf("DNS: %s", got)
	}
	if strings.Contains(log.String(), "filter of system calls") {
		t.Skip("this system denies no sockets")
	}
	r, err = b.Run(t.Context(), report.Change{Head: "dial", User: report.User{Login: l.Addr().String()}})
	if err != nil || r.Title != "true" {
		t.Errorf("a socket reached the listener: %v %v", r, err)
	}
}

func TestNotTheChildWeMeant(t *testing.T) {
	var crash *Crash
	_, err := testSandbox(t, func(c *Config) { c.Args = []string{"act-as-liar"} }).Run(t.Context(), report.Change{})
	if !errors.As(err, &crash) || crash.Reason != reasonProtocol {
		t.Errorf("error %v", err)
	}
	_, err = testSandbox(t, func(c *Config) { c.Executable = "/nonexistent/lintel" }).Run(t.Context(), report.Change{})
	if !errors.As(err, &crash) || strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("error %v", err)
	}
}

func TestPlainWithoutNamespaces(t *testing.T) {
	b := testSandbox(t, nil)
	b.plain.Store(true)
	title(t, b, "pid")
}

func TestJobsWaitForTheirTurn(t *testing.T) {
	b := testSandbox(t, nil)
	pids := make(chan string)
	for range 4 {
		go func() {
			r, err := b.Run(context.Background(), report.Change{Head: "pid"})
			if err != nil {
				pids <- err.Error()
				return
			}
			pids <- r.Title
		}()
	}
	first := <-pids
	for range 3 {
		if pid := <-pids; pid != first {
			t.Errorf("%s and %s", first, pid)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		x := New(Config{Args: []string{"act-as-child"}})
		if _, err := x.Run(b.Context(), report.Change{Head: "pid"}); err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}

func BenchmarkWarmJob(b *testing.B) {
	x := New(Config{Args: []string{"act-as-child"}})
	defer x.Close()
	for b.Loop() {
		if _, err := x.Run(b.Context(), report.Change{Head: "pid"}); err != nil {
			b.Fatal(err)
		}
	}
}

// A check reports objects that are missing from the repository of its change, and ignores those of other repositories.
func TestAbsent(t *testing.T) {
	b := testSandbox(t, nil)
	for of, want := range map[string][]string{"/mirror": {"x", "y"}, "/another": nil} {
		var failed *Failed
		_, err := b.Run(t.Context(), report.Change{Head: "absent", GitDir: "/mirror", Base: of})
		if !errors.As(err, &failed) || !slices.Equal(failed.Absent, want) {
			t.Errorf("%s: %#v", of, err)
		}
	}
}

// A job gets the seat that last served its owner, or else an unused one, or else the one idle for longest.
func TestSeatsByOwner(t *testing.T) {
	s := New(Config{Children: 2})
	lend := func(owner string) *seat {
		t.Helper()
		lent, err := s.acquire(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		lent.owner = owner // as start does
		s.release(lent)
		return lent
	}
	one := lend("1")
	if lend("1") != one {
		t.Error("the first owner got another one")
	}
	two := lend("2")
	if two == one {
		t.Error("the second owner got the first one's, though one was new")
	}
	if lend("1") != one || lend("2") != two || lend("1") != one {
		t.Error("owners got each other's")
	}
	if lend("3") != two {
		t.Error("a third owner got the one that was used last")
	}
	if lend("1") != one {
		t.Error("the first owner lost its own")
	}
}

// As many jobs run at the same time as there are children.
func TestChildrenWorkAtATime(t *testing.T) {
	b := testSandbox(t, func(c *Config) { c.Children = 2 })
	ctx, stop := context.WithCancel(t.Context())
	loop := make(chan error)
	go func() { _, err := b.Run(ctx, report.Change{Head: "loop"}); loop <- err }()
	for len(b.free) == 2 {
		time.Sleep(time.Millisecond)
	}
	title(t, b, "pid")
	stop()
	if err := <-loop; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A job that misses objects of a partial mirror is repeated after they were fetched, a limited number of times.
func TestAbsentIsFetched(t *testing.T) {
	trouble := errors.New("no network")
	change := &report.Change{GitDir: "/g", Base: "b", Head: "h"}
	lacks := &Failed{Message: "lacks", Absent: []string{"x"}}
	for name, c := range map[string]struct {
		answers []error // of the child, in order; the last one is repeated
		fetch   error
		want    error
		fetches int
	}{
		"nothing is absent":      {answers: []error{nil}},
		"another failure":        {answers: []error{&Failed{Message: "no"}}, want: &Failed{}},
		"absent once":            {answers: []error{lacks, nil}, fetches: 1},
		"fetch fails":            {answers: []error{lacks}, fetch: trouble, want: trouble, fetches: 1},
		"absent again and again": {answers: []error{lacks}, want: lacks, fetches: maxWhole - 1},
	} {
		t.Run(name, func(t *testing.T) {
			fetches, tries := 0, 0
			s := New(Config{Complete: func(_ context.Context, dir string, commits, objects []string) error {
				fetches++
				if dir != "/g" || !slices.Equal(commits, []string{"b", "h"}) || !slices.Equal(objects, []string{"x"}) {
					t.Errorf("it was asked for %s %q %q", dir, commits, objects)
				}
				return c.fetch
			}})
			err := s.whole(t.Context(), change, func() error {
				tries++
				return c.answers[min(tries, len(c.answers))-1]
			})
			var failed *Failed
			if (err == nil) != (c.want == nil) || errors.Is(c.want, trouble) != errors.Is(err, trouble) ||
				errors.As(c.want, &failed) != errors.As(err, &failed) || fetches != c.fetches {
				t.Errorf("got %v after %d fetches, want %v after %d", err, fetches, c.want, c.fetches)
			}
		})
	}
}
