// Command replay checks the last commits of a repository, one after the other, as changes to their first parents, with
// a folder of policies laid over it, and prints what that costs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

type options struct {
	repo, policies, cache string
	head, reports         string
	n                     int
	verbose               bool
}

func main() {
	var o options
	flag.StringVar(&o.repo, "repo", ".", "a folder of the repository")
	flag.StringVar(&o.head, "head", "HEAD", "the last commit to check")
	flag.StringVar(&o.reports, "reports", "", "a folder to write the reports to, as text and as JSON (default: none)")
	flag.IntVar(&o.n, "n", 200, "how many commits to check")
	flag.StringVar(&o.policies, "policies", "", "a folder of policies to lay over every commit (default: none)")
	flag.StringVar(&o.cache, "cache", "", "a folder to keep things in (default: none, all checks in one process)")
	flag.BoolVar(&o.verbose, "v", false, "print a line for each commit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stderr := os.Stderr // where kustomize says in every build which fields are deprecated
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	if err := replay(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(stderr, "replay:", err)
		os.Exit(1)
	}
}

// costs is what checks took, and what they came to.
type costs struct {
	times, cpu       []time.Duration // in the order of the checks
	peaks            []int           // KiB
	conclusions      map[report.Conclusion]int
	roots, resources int
}

// replay checks the commits that the options name and prints what that costs.
func replay(ctx context.Context, out io.Writer, o options) error {
	if o.n < 1 {
		return errors.New("-n must be at least 1")
	}
	temp, err := os.MkdirTemp("", "lintel-replay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	l, err := newLayer(ctx, temp, o.repo, o.policies)
	if err != nil {
		return err
	}
	list, err := l.git(ctx, "", "rev-list", "--first-parent", "-n", strconv.Itoa(o.n+1), o.head)
	if err != nil {
		return err
	}
	commits := strings.Fields(list)
	slices.Reverse(commits)
	if len(commits) < 2 {
		return errors.New("the repository has one commit")
	}
	var c checks.Checker
	done := costs{conclusions: map[report.Conclusion]int{}}
	for i, head := range commits[1:] {
		rules, err := l.over(ctx, commits[i])
		if err != nil {
			return err
		}
		change := report.Change{GitDir: l.gitDir, Alternates: []string{l.objects}, Cache: o.cache,
			Rules: rules, Base: commits[i], Head: head, Now: time.Now()}
		resetPeak()
		begun, used := time.Now(), cpu()
		rep, err := c.Run(ctx, change)
		if err != nil {
			return fmt.Errorf("%s: %w", head, err)
		}
		done.add(time.Since(begun), cpu()-used, peak(), rep)
		if err := write(o.reports, head, rep); err != nil {
			return err
		}
		if o.verbose {
			fmt.Fprintf(out, "%.10s %8s %8s %4d MiB %4d roots %5d resources %s: %s\n", head,
				round(done.times[i]), round(done.cpu[i]), done.peaks[i]>>10, rep.Stats.Roots, rep.Stats.Resources,
				rep.Conclusion, rep.Title)
		}
	}
	return done.print(out)
}

// write puts a report into a folder as text and as JSON, by the name of the commit; nowhere where there is no folder.
func write(folder, head string, rep *report.Report) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for suffix, form := range map[string]string{".txt": "text", ".json": "json"} {
		var out strings.Builder
		if err := output.Write(form, &out, rep, output.Options{}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, head[:10]+suffix), []byte(out.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c *costs) add(took, used time.Duration, peak int, rep *report.Report) {
	c.times, c.cpu, c.peaks = append(c.times, took), append(c.cpu, used), append(c.peaks, peak)
	c.conclusions[rep.Conclusion]++
	c.roots += rep.Stats.Roots
	c.resources += rep.Stats.Resources
}

// print writes the table. It sorts what was measured.
func (c *costs) print(w io.Writer) error {
	first, n := c.times[0], len(c.times)
	slices.Sort(c.times)
	slices.Sort(c.cpu)
	slices.Sort(c.peaks)
	middle, late, last := n/2, min(n-1, n*95/100), n-1
	_, err := fmt.Fprintf(w, "first check %s (nothing known)\n"+
		"%d checks, %d roots, %d resources, %v\n"+
		"time    median %s  p95 %s  max %s\n"+
		"cpu     median %s  p95 %s  max %s\n"+
		"memory  median %d MiB  p95 %d MiB  max %d MiB\n",
		round(first), n, c.roots, c.resources, c.conclusions,
		round(c.times[middle]), round(c.times[late]), round(c.times[last]),
		round(c.cpu[middle]), round(c.cpu[late]), round(c.cpu[last]),
		c.peaks[middle]>>10, c.peaks[late]>>10, c.peaks[last]>>10)
	return err
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// cpu is the time that processors spent for this process and those it waited for, in steps of 10 ms (proc(5), stat);
// where the system does not say it, 0.
func cpu() time.Duration {
	stat, _ := os.ReadFile("/proc/self/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields, ticks := strings.Fields(rest), 0
	for i := 11; i < min(15, len(fields)); i++ {
		n, _ := strconv.Atoi(fields[i])
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resetPeak starts the measurement of peak over; where the system has none, peak is 0 (proc(5), clear_refs).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak is the largest resident size since resetPeak, in KiB.
func peak() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib := 0
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}
