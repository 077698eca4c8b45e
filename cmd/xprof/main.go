package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote/fetch"
	"github.com/lintel-bot/lintel/render/remote/fetch/policy"
	"github.com/lintel-bot/lintel/render/remote/fetch/store"
)

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

type box struct{ *checks.Checker }

func (b box) Run(ctx context.Context, c report.Change) (*report.Report, error) {
	s, t := cpu(), time.Now()
	r, err := b.Checker.Run(ctx, c)
	n := 0
	if r != nil && r.Wanted != nil {
		var q struct{ Wants []any }
		json.Unmarshal(r.Wanted, &q)
		n = len(q.Wants)
	}
	fmt.Fprintf(os.Stderr, "round: %.2f cpu s %.2f wall, wants %d\n", cpu()-s, time.Since(t).Seconds(), n)
	return r, err
}

func main() {
	repo := flag.String("repo", "", "")
	base := flag.String("base", "", "")
	head := flag.String("head", "", "")
	cache := flag.String("cache", "", "")
	all := flag.Bool("all", false, "")
	prof := flag.String("prof", "", "")
	last := flag.Bool("last", false, "")
	times := flag.Int("times", 1, "")
	outf := flag.String("o", "", "")
	flag.Parse()
	rev := func(s string) string {
		if s == "" {
			return ""
		}
		out, err := exec.Command("git", "-C", *repo, "rev-parse", s).Output()
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(string(out))
	}
	git, _ := exec.LookPath("git")
	ctx := context.Background()
	c := report.Change{GitDir: *repo + "/.git", Base: rev(*base), Head: rev(*head), Git: git, All: *all, Cache: *cache, Now: time.Now(), Branches: []string{"main"}, Repository: []string{"https://github.com/redhat-appstudio/infra-deployments"}}
	c.Rules = c.Base
	os.MkdirAll("/tmp/xstore", 0o755)
	o := store.Options{Dir: "/tmp/xstore", Git: git}
	if *prof != "" {
		f, _ := os.Create(*prof)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	ch := &checks.Checker{}
	for range *times {
		s := &remotes.Resolver{GitDir: o.GitDir(), Open: func(a remotes.Request) (b, h remotes.Fetcher, done func(), err error) {
			kept, err := store.Open(ctx, o)
			if err != nil {
				return
			}
			f, err := fetch.New(fetch.Options{Store: kept, Policy: policy.Default(), UserGit: true, Offline: true})
			if err != nil {
				return
			}
			return f, f, f.Close, nil
		}}
		var r *report.Report
		var err error
		if *last {
			c.Sources = &report.Sources{GitDir: o.GitDir(), Lock: json.RawMessage("[]"), Last: true}
			r, err = box{ch}.Run(ctx, c)
		} else {
			r, err = s.Run(ctx, box{ch}, c)
		}
		if err != nil {
			panic(err)
		}
		r.Conclude()
		fmt.Fprintln(os.Stderr, r.Conclusion, len(r.Findings), r.Stats)
		if *outf != "" {
			d, _ := json.MarshalIndent(r, "", " ")
			os.WriteFile(*outf, d, 0o644)
		}
	}
}
