// Command demo shows Lintel's main job on one machine, with nothing but Go and git: it serves a sample
// GitOps repository behind an imitation of GitHub, starts "lintel serve", opens a pull request that breaks
// two policies, and prints the check run the way GitHub shows it.
//
// It exits with code 0 if the check run is as expected. Otherwise it prints the reason and exits with code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// deadline is how long the demo may take after the build.
const deadline = 55 * time.Second

const (
	fullName = "octo-org/fleet"
	branch   = "ship-the-logs"
	title    = "Ship the logs of the shop"
	author   = "alice"
)

func main() {
	binary := flag.String("lintel", "bin/lintel", "the program to show")
	sample := flag.String("sample", "testdata/sample", "folder with the sample repository")
	change := flag.String("change", "testdata/sample-change", "folder with the files of the pull request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := run(ctx, os.Stdout, *binary, *sample, *change); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		cancel()
		os.Exit(1)
	}
}

// run runs the demo, and returns an error if something is not as expected.
func run(ctx context.Context, out io.Writer, binary, sample, change string) (err error) {
	start := time.Now()
	step := func(format string, args ...any) {
		fmt.Fprintf(out, "%5.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	files, err := readFolder(change)
	if err != nil {
		return fmt.Errorf("reading the change: %w", err)
	}
	hub, err := githubtest.New(githubtest.Config{})
	if err != nil {
		return err
	}
	defer hub.Close()
	if _, err := hub.AddRepo(ctx, fullName, sample); err != nil {
		return fmt.Errorf("making the repository: %w", err)
	}
	step("%s is served at %s", fullName, hub.URL())

	server, err := startServer(ctx, binary, hub)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := server.stop(); err == nil {
			err = stopped
		}
		if err != nil {
			err = fmt.Errorf("%w\n\nlintel serve logged:\n%s", err, strings.TrimSpace(server.log.String()))
		}
	}()
	hub.SetHook(server.url + "/webhook")
	step("lintel serve is ready at %s", server.url)

	head, err := hub.Push(ctx, fullName, githubtest.Commit{Branch: branch, Files: files, Author: author, Message: title})
	if err != nil {
		return fmt.Errorf("pushing the change: %w", err)
	}
	number, err := hub.OpenPull(ctx, fullName, githubtest.Pull{Head: branch, Title: title, Author: author})
	if err != nil {
		return fmt.Errorf("opening the pull request: %w", err)
	}
	step("%s opened pull request #%d, %q", author, number, title)

	check, err := hub.WaitRun(ctx, fullName, head, nil)
	if err != nil {
		return fmt.Errorf("waiting for the check run: %w", err)
	}
	step("the check run is completed")
	source := func(path string) []string {
		text, err := hub.File(ctx, fullName, head, path)
		if err != nil {
			return nil
		}
		return strings.Split(text, "\n")
	}
	printer{out: out, color: colorful()}.checkRun(check, fmt.Sprintf("%s #%d", fullName, number), source)
	return verify(check, files, hub.Violations())
}

// readFolder reads the files below a folder, by slash-separated path.
func readFolder(folder string) (map[string]string, error) {
	files := map[string]string{}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files[name] = string(data)
		return err
	})
	if err == nil && len(files) == 0 {
		err = errors.New("the folder is empty")
	}
	return files, err
}
