package worker_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bounds of the server while strangers try it. The box of a check may take much more than the server, which reads
// nothing of a repository.
const (
	hostileMemory  = 512   // MiB, of one box
	hostileTimeout = "20s" // of one check
	serverMemory   = 300   // MiB at most, of the server itself
	neighborsTime  = 15 * time.Second
)

// TestHostilePullRequests: while pull requests of strangers blow up, hang and run out of memory, those of others get
// their results in time, each hostile one gets a failure that says what to mend, and the server stays small.
func TestHostilePullRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	if runtime.GOOS != "linux" {
		t.Skip("reads the server's memory in /proc")
	}
	binary := buildLintel(t)
	hub := newHub(t)
	evil := newScene(t, hub, "evil-org/fork", sampleRepo)
	good := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_WORKERS=2", "LINTEL_CHECK_TIMEOUT="+hostileTimeout,
		"LINTEL_CHECK_MEMORY="+strconv.Itoa(hostileMemory), "GITHUB_TOKEN=host-secret-token")
	hub.SetHook(p.url + "/webhook")
	good.completed(good.pushOpen("warm"))

	attacks := []struct {
		name  string
		files map[string]string
		says  []string
	}{
		{"bomb", map[string]string{"apps/bomb/cm.yaml": aliasBomb()},
			[]string{"too large once its aliases are replaced", "apps/bomb/cm.yaml"}},
		{"hog", hog(), []string{"ran out of its memory limit", "aliases"}},
		{"endless", endless(), []string{"took longer than " + hostileTimeout, "exceeds the server's limits of time or memory"}},
		{"loud", loud(), nil},
	}
	heads := map[string]string{}
	for _, a := range attacks {
		heads[a.name] = evil.push(a.name, a.files)
		evil.open(a.name)
	}
	for i := range 6 {
		begun := time.Now()
		run := good.completed(good.pushOpen(fmt.Sprintf("good-%d", i)))
		if took := time.Since(begun); run.Conclusion != "success" || took > neighborsTime {
			t.Errorf("another repository's check took %s:\n%s", took, show(run))
		}
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			run := evil.completed(heads[a.name])
			text := show(run)
			if run.Conclusion != "failure" || run.Title == "" || run.Summary == "" {
				t.Errorf("it got\n%s", clipped(text))
			}
			for _, want := range a.says {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q:\n%s", want, clipped(text))
				}
			}
			for _, never := range []string{"host-secret-token", os.TempDir() + "/", "goroutine", "/proc/"} {
				if strings.Contains(text, never) {
					t.Errorf("it says %q:\n%s", never, clipped(text))
				}
			}
		})
	}
	if peak := peakMemory(t, p.cmd.Process.Pid); peak > serverMemory {
		t.Errorf("the server took %d MiB", peak)
	} else {
		t.Logf("the server took at most %d MiB", peak)
	}
	if run := good.completed(good.pushOpen("after")); run.Conclusion != "success" {
		t.Errorf("the check after it:\n%s", show(run))
	}
	clean(t, hub)
}

// peakMemory is the most that a process has held, in MiB (proc(5), VmHWM).
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Skip("the kernel does not tell the peak of memory")
	return 0
}

const hostileMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"

func aliasBomb() string {
	var s strings.Builder
	fmt.Fprintf(&s, hostileMap+"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", "bomb")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&s, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return s.String()
}

// hog is many files that are each just within the limits.
func hog() map[string]string {
	files := map[string]string{}
	for i := range 60 {
		var s strings.Builder
		fmt.Fprintf(&s, hostileMap+"b0: &b0 [{a: b},{a: b},{a: b},{a: b},{a: b},{a: b},{a: b},{a: b},{a: b},{a: b}]\n",
			"hog-"+strconv.Itoa(i))
		for j := 1; j < 4; j++ {
			fmt.Fprintf(&s, "b%d: &b%d [%s]\n", j, j, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*b%d,", j-1), 10), ","))
		}
		s.WriteString("c: [*b3,*b3,*b3,*b3,*b3,*b3,*b3,*b3,*b3,*b3,*b3,*b3]\n")
		files[fmt.Sprintf("apps/hog/f%d.yaml", i)] = s.String()
	}
	return files
}

// endless is many patches of many resources, each of which kustomize looks for by a pattern.
func endless() map[string]string {
	var resources, patches strings.Builder
	for i := range 400 {
		fmt.Fprintf(&resources, hostileMap+"data: {a: x}\n---\n", "endless-"+strconv.Itoa(i))
	}
	for range 3000 {
		patches.WriteString("- target: {name: 'endless.*'}\n  patch: '[{\"op\": \"add\", \"path\": \"/data/b\", " +
			"\"value\": \"x\"}]'\n")
	}
	return map[string]string{"apps/endless/all.yaml": resources.String(),
		"apps/endless/kustomization.yaml": "resources: [all.yaml]\npatches:\n" + patches.String()}
}

// loud is a file whose problem is in a name that is markup, a mention and a command of a log.
func loud() map[string]string {
	return map[string]string{"apps/loud/kustomization.yaml": "resources:\n- \"::error::<img src=x onerror=alert(1)> " +
		"@octocat ![x](http://127.0.0.1/x) \\e[31m\"\n"}
}

func clipped(s string) string {
	if len(s) > 3000 {
		return s[:3000] + "..."
	}
	return s
}
