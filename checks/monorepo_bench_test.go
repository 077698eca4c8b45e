//go:build unix

package checks_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
)

// BenchmarkMonorepo measures a change of one file, and of a base that many overlays share, in repositories of several
// sizes: with nothing known (cold), in a process that checked another change before (warm), and in a new process that
// finds what another left on disk (disk). cpu-ms/op is the processor time of the process and of git.
func BenchmarkMonorepo(b *testing.B) {
	for _, apps := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("apps=%d", apps), func(b *testing.B) {
			m := newMonorepo(b, apps, 50)
			check := func(b *testing.B, c *checks.Checker, head, cache string, roots int) {
				b.Helper()
				rep, err := c.Run(b.Context(),
					report.Change{GitDir: m.gitDir, Cache: cache, Rules: m.base, Base: m.base, Head: head,
						Now: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)})
				if err != nil {
					b.Fatal(err)
				}
				if len(rep.Errors) > 0 || rep.Stats.Roots != roots {
					b.Fatalf("%d roots, want %d: %v", rep.Stats.Roots, roots, rep.Errors)
				}
			}
			b.Run("cold", func(b *testing.B) {
				measure(b, func(i int) { check(b, &checks.Checker{}, m.edits[i%len(m.edits)], "", 3) })
			})
			b.Run("warm", func(b *testing.B) {
				var c checks.Checker
				check(b, &c, m.edits[0], "", 3)
				measure(b, func(i int) { check(b, &c, m.edits[i%len(m.edits)], "", 3) })
			})
			b.Run("disk", func(b *testing.B) {
				cache := b.TempDir()
				check(b, &checks.Checker{}, m.edits[0], cache, 3)
				measure(b, func(i int) { check(b, &checks.Checker{}, m.edits[i%len(m.edits)], cache, 3) })
				size := int64(0)
				for _, file := range files(b, cache) {
					if info, err := os.Stat(file); err == nil {
						size += info.Size()
					}
				}
				b.ReportMetric(float64(size)/(1<<20), "disk-MiB")
			})
			for _, k := range []int{10, 100, 1000} {
				if k > apps {
					continue
				}
				b.Run(fmt.Sprintf("shared=%d", k), func(b *testing.B) {
					var c checks.Checker
					check(b, &c, m.edits[0], "", 3)
					measure(b, func(int) { check(b, &c, m.shared[k], "", k) })
				})
			}
		})
	}
}

// measure runs a benchmark and reports the processor time of one round.
func measure(b *testing.B, round func(i int)) {
	b.Helper()
	before, i := processorTime(b), 0
	for b.Loop() {
		round(i)
		i++
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(time.Millisecond)/float64(i), "cpu-ms/op")
}

// processorTime is the processor time of this process and of the children that it waited for.
func processorTime(tb testing.TB) (sum time.Duration) {
	tb.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			tb.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
