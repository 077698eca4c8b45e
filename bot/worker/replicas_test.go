package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// natsChild is the variable that makes the test binary a NATS server; it holds a natsMember.
const natsChild = "LINTEL_TEST_NATS_SERVER"

func TestMain(m *testing.M) {
	if member := os.Getenv(natsChild); member != "" {
		if err := serveNATS([]byte(member)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// serveNATS is a NATS server until standard input ends, with the test at the latest.
func serveNATS(config []byte) error {
	var member natsMember
	if err := json.Unmarshal(config, &member); err != nil {
		return err
	}
	s, err := server.NewServer(member.options())
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return fmt.Errorf("the NATS server is not ready")
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// natsProcesses is a cluster of three NATS servers, each a process that can be killed.
type natsProcesses struct {
	t       *testing.T
	members []natsMember
	cmds    []*exec.Cmd
}

func newNATSProcesses(t *testing.T) *natsProcesses {
	t.Helper()
	c := &natsProcesses{t: t, members: natsMembers(t), cmds: make([]*exec.Cmd, 3)}
	t.Cleanup(func() {
		for n := range c.cmds {
			c.kill(n)
		}
	})
	for n := range c.cmds {
		c.start(n)
	}
	return c
}

func (c *natsProcesses) url() string { return natsURL(c.members) }

func (c *natsProcesses) start(n int) {
	c.t.Helper()
	config, err := json.Marshal(c.members[n])
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), natsChild+"="+string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err = cmd.StdinPipe(); err != nil { // never written to; closed with this process
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.cmds[n] = cmd
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		c.t.Fatalf("the NATS server said %q, %v", line, err)
	}
}

// kill ends a server the hard way.
func (c *natsProcesses) kill(n int) {
	if cmd := c.cmds[n]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.cmds[n] = nil
	}
}

// TestReplicas: three replicas share the work through a NATS cluster; replicas and servers are killed, one, two or
// all at a time. Every head ends with exactly one completed check run, the right one, soon after all are back, and
// without a sweep but those that a replica begins with.
func TestReplicas(t *testing.T) {
	if !*soak {
		t.Skip("minutes; run with -soak")
	}
	const pulls, rounds, replicas, repo = 24, 9, 3, "octo-org/fleet"
	binary := buildLintel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	hub := newHub(t)
	if _, err := hub.AddRepo(ctx, repo, sampleRepo); err != nil {
		t.Fatal(err)
	}
	nats := newNATSProcesses(t)
	env := []string{"LINTEL_NATS_URL=" + nats.url(), "LINTEL_WORKERS=2", "LINTEL_SWEEP_INTERVAL=1h"}
	r := &relay{count: map[string]int{}}
	data, servers := make([]string, replicas), make([]*process, replicas)
	begin := func(i int) { servers[i] = serve(t, binary, hostingOf(hub), data[i], env...) }
	reach := func() {
		var urls []string
		for _, p := range servers {
			if p != nil {
				urls = append(urls, p.url)
			}
		}
		r.set(urls...)
	}
	for i := range servers {
		data[i] = t.TempDir()
		begin(i)
	}
	reach()
	front := httptest.NewServer(r)
	defer front.Close()
	go r.run(ctx)
	hub.SetHook(front.URL + "/webhook")

	heads, want := map[int]string{}, map[int]string{}
	push := func(round, n int) {
		from := map[string]string{"failure": sampleChange, "success": sampleRepo}
		want[n] = []string{"failure", "success"}[rand.IntN(2)]
		branch := fmt.Sprintf("change-%d", n)
		sha, err := hub.Push(ctx, repo, githubtest.Commit{Branch: branch, Files: map[string]string{
			patchPath:                               read(t, from[want[n]], patchPath) + fmt.Sprintf("# %d %d\n", n, round),
			fmt.Sprintf("platform/notes-%d.txt", n): strconv.Itoa(round)}})
		if err != nil {
			t.Fatal(err)
		}
		heads[n] = sha
		if round == 0 {
			if _, err := hub.OpenPull(ctx, repo, githubtest.Pull{Head: branch}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for round := range rounds {
		order := rand.Perm(pulls)
		for _, n := range order[:pulls/2] {
			push(round, n)
		}
		victims, victim := rand.Perm(3)[:round%3+1], rand.IntN(replicas)
		servers[victim].kill()
		servers[victim] = nil
		reach()
		for _, n := range victims {
			nats.kill(n)
		}
		for _, n := range order[pulls/2:] {
			push(round, n)
		}
		for _, n := range victims {
			nats.start(n)
		}
		begin(victim)
		reach()
		back := time.Now()
		for n := range pulls {
			run, err := hub.WaitRun(ctx, repo, heads[n], nil)
			if err != nil || run.Conclusion != want[n] || strings.Contains(run.ExternalID, "gave-up") {
				t.Errorf("change-%d: %v, want %s:\n%s", n, err, want[n], show(run))
			}
		}
		took := time.Since(back)
		t.Logf("a replica and %d servers of the queue were killed: all heads concluded %s after they were back",
			len(victims), took.Round(time.Millisecond))
		if took > 45*time.Second {
			t.Errorf("the heads took %s", took)
		}
	}
	completed := map[string]int{}
	for _, run := range hub.Runs(repo) {
		if run.Conclusion != "cancelled" {
			completed[run.HeadSHA]++
		}
	}
	for n := range pulls {
		if completed[heads[n]] != 1 {
			t.Errorf("change-%d has %d check runs for its head, want one", n, completed[heads[n]])
		}
	}
	clean(t, hub)
}
