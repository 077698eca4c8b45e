// Command blame-proof tries the origins of a repository's fields by changing what they name, and prints how
// many were right.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lintel-bot/lintel/render/rendertest"
	"github.com/lintel-bot/lintel/render/tree"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "blame-proof:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context) error {
	var o rendertest.Options
	repo := flag.String("repo", ".", "a git directory, or a folder of a work tree")
	rev := flag.String("rev", "HEAD", "the commit to try")
	flag.IntVar(&o.Fields, "fields", 100, "fields of one root, rare classes first; 0: all")
	flag.IntVar(&o.Roots, "roots", 0, "roots, spread over the repository; 0: all")
	flag.StringVar(&o.Only, "only", "", "the path of one root, or of a folder of roots")
	examples := flag.Int("refuted", 20, "how many refuted fields to print")
	undecided := flag.Int("undecided", 0, "how many undecided fields to print")
	broken := flag.Bool("broken", false, "print the roots that cannot be rendered")
	lock := flag.String("lock", "", "a file with what was fetched from outside (JSON of remote.Lock); its trees are in -store")
	store := flag.String("store", "", "the git directory with the trees of -lock")
	names := flag.String("names", "", "the repository's addresses, by commas: they tell its folders from those of others")
	verbose := flag.Bool("v", false, "print each root on standard error")
	flag.Parse()
	if *verbose {
		o.Log = func(root string) { fmt.Fprintln(os.Stderr, root) }
	}
	dir, err := exec.CommandContext(ctx, "git", "-C", *repo, "rev-parse", "--absolute-git-dir").Output()
	if err != nil {
		return fmt.Errorf("%s is no git repository: %w", *repo, err)
	}
	scratch, err := newScratch(ctx, strings.TrimSpace(string(dir)))
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	o.Write = func(ctx context.Context, tree string, files map[string][]byte) (string, error) {
		return write(ctx, scratch, tree, files)
	}
	if *names != "" {
		o.Repository = strings.Split(*names, ",")
	}
	objects, err := tree.Open(ctx, tree.Config{GitDir: scratch})
	if err != nil {
		return err
	}
	defer objects.Close()
	commit, err := git(ctx, strings.TrimSpace(string(dir)), "", nil, "rev-parse", "--verify", *rev+"^{commit}")
	if err != nil {
		return err
	}
	t, err := objects.Tree(commit)
	if err != nil {
		return err
	}
	if *lock != "" {
		if o.Sources, err = openLock(ctx, *lock, *store); err != nil {
			return err
		}
	}
	report, err := rendertest.Prove(ctx, t, o)
	if report == nil || err != nil && ctx.Err() == nil {
		return err
	}
	if err != nil {
		fmt.Println("stopped early; until then:")
	}
	if *broken {
		for _, b := range report.Broken {
			fmt.Println("broken:", b)
		}
	}
	return report.Write(os.Stdout, *examples, *undecided)
}
