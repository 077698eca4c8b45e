package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/bot/worker"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

const (
	maxWorkers = 64
	// patience is how long a check may take before its check run shows that it is still running; most checks take less.
	patience = 2 * time.Second
	// One check needs about a tenth of the lower bound for the program itself, in MiB.
	minCheckMemory, maxCheckMemory = 256, 64 << 10
	openQueue                      = time.Minute
	minPageBytes, maxPageBytes     = 64 << 20, 1 << 40
	minPageResult, maxPageResult   = 64 << 10, results.MaxResult
	minDisk, maxDisk               = 64 << 20, 64 << 40
)

// serveOptions are the settings of "lintel serve", from flags or the environment.
type serveOptions struct {
	listen, dataDir, publicURL, githubURL, appID, keyFile, secret, secretFile, natsURL, sources string
	clientID, clientSecretFile, accounts                                                        string
	pageAccessTTL                                                                               time.Duration
	workers                                                                                     int
	sweepInterval                                                                               time.Duration
	checkTimeout                                                                                time.Duration
	checkMemory                                                                                 int
	pageAge                                                                                     time.Duration
	pageBytes, pageResult                                                                       size
	// limits for data on disk, of all installations together; mirrorRepository: limit for one repository
	mirrorBytes, mirrorRepository, sourcesBytes, cacheBytes size

	rules  *fetch.Policy           // of sources
	serves func(login string) bool // of accounts; nil: all
	again  <-chan os.Signal        // asks to read the credentials anew
}

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := newCommand("serve", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if err := fromEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		return serve(cmd.Context(), o, cmd.OutOrStdout(), slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)))
	})
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", ":8080", "address to listen on")
	f.StringVar(&o.dataDir, "data-dir", "", "folder for mirrors, the source cache, the embedded job queue and the "+
		"App's credentials (required)")
	f.StringVar(&o.publicURL, "public-url", "", "address at which GitHub and people reach this server; check runs "+
		"link to its pages. Empty: no pages, and registering an App asks for it")
	f.StringVar(&o.githubURL, "github-url", "https://github.com", "address of GitHub or of an Enterprise Server")
	f.StringVar(&o.appID, "github-app-id", "", "id of the GitHub App; without id, key and secret, the App that was "+
		"registered by this server")
	f.StringVar(&o.keyFile, "github-private-key-file", "", "file with the App's private key, PEM")
	f.StringVar(&o.secret, "github-webhook-secret", "", "the App's webhook secret")
	f.StringVar(&o.secretFile, "github-webhook-secret-file", "", "file with the webhook secret, in place of "+
		"--github-webhook-secret")
	f.StringVar(&o.clientID, "github-client-id", "", "the App's client id, with which people sign in to see results of "+
		"private repositories")
	f.StringVar(&o.clientSecretFile, "github-client-secret-file", "", "file with the App's client secret")
	f.DurationVar(&o.pageAccessTTL, "page-access-ttl", results.DefaultAccessTTL, "how long GitHub's answer about who "+
		"may see a result is cached")
	f.StringVar(&o.accounts, "accounts", "", "organizations and users that the App serves, separated by commas; "+
		"empty: all that installed it")
	f.StringVar(&o.natsURL, "nats-url", "", "NATS server or cluster that keeps the jobs; empty: embedded")
	f.StringVar(&o.sources, "sources", "", "file with the allowed remote sources and their credentials; empty: all "+
		"public ones")
	f.IntVar(&o.workers, "workers", 2, "number of pull requests that are checked at the same time")
	f.DurationVar(&o.checkTimeout, "check-timeout", sandbox.DefaultTimeout, "end a check after this time")
	f.IntVar(&o.checkMemory, "check-memory", sandbox.DefaultMemoryLimit>>20, "MiB of memory that one check may take")
	o.pageBytes, o.pageResult = results.DefaultBytes, results.DefaultResult
	f.DurationVar(&o.pageAge, "page-max-age", results.DefaultAge, "how long results are kept for their pages")
	f.Var(&o.pageBytes, "page-max-bytes", "storage limit of all results; the oldest are removed first")
	f.Var(&o.pageResult, "page-max-result", "size limit of one report; above it, differences are left out")
	// The defaults leave room for jobs and results on a volume of 10 GiB.
	o.mirrorBytes, o.mirrorRepository, o.sourcesBytes, o.cacheBytes = 5<<30, 4<<30, 1<<30, 1<<30
	f.Var(&o.mirrorBytes, "mirror-max-bytes", "storage limit of all mirrors of repositories; the least recently used "+
		"are removed first")
	f.Var(&o.mirrorRepository, "mirror-max-repository", "storage limit of the mirror of one repository; larger ones "+
		"are not checked")
	f.Var(&o.sourcesBytes, "sources-max-bytes", "storage limit of the source cache")
	f.Var(&o.cacheBytes, "cache-max-bytes", "storage limit of the cache of checks")
	f.DurationVar(&o.sweepInterval, "sweep-interval", worker.DefaultInterval, "time between searches for lost webhooks")
	for _, b := range o.bounds() {
		f.Lookup(b.flag).Usage += "; " + b.words
	}
	return cmd
}

// bound is the range of a flag's values.
type bound struct {
	flag  string
	ok    bool // the present one is such a value
	words string
}

// bounds are the ranges of all flags that have one.
func (o *serveOptions) bounds() []bound {
	const disk = "from 64MiB to 64TiB"
	return []bound{
		{"workers", within(o.workers, 1, maxWorkers), fmt.Sprintf("from 1 to %d", maxWorkers)},
		{"check-timeout", within(o.checkTimeout, time.Second, time.Hour), "from 1s to 1h"},
		{"check-memory", within(o.checkMemory, minCheckMemory, maxCheckMemory),
			fmt.Sprintf("from %d to %d (MiB)", minCheckMemory, maxCheckMemory)},
		{"sweep-interval", o.sweepInterval >= time.Second, "at least 1s"},
		{"page-max-age", o.pageAge >= time.Hour, "at least 1h"},
		{"page-max-bytes", within(o.pageBytes, minPageBytes, maxPageBytes), "from 64MiB to 1TiB"},
		{"page-max-result", within(o.pageResult, minPageResult, maxPageResult), "from 64KiB to 256MiB"},
		{"page-access-ttl", within(o.pageAccessTTL, 1, results.MaxAccessTTL), "more than 0s and at most 1h"},
		{"mirror-max-bytes", within(o.mirrorBytes, minDisk, maxDisk), disk},
		{"mirror-max-repository", within(o.mirrorRepository, minDisk, maxDisk), disk},
		{"sources-max-bytes", within(o.sourcesBytes, minDisk, maxDisk), disk},
		{"cache-max-bytes", within(o.cacheBytes, minDisk, maxDisk), disk},
	}
}

// variable returns the name of the environment variable for a flag.
func variable(flag string) string {
	return "LINTEL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that are not on the command line from environment variables with the same names.
// Errors do not contain the values, since one of them is a secret.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := lookup(name)
		if !ok || value == "" || f.Changed || err != nil {
			return
		}
		if flags.Set(f.Name, value) != nil {
			err = fmt.Errorf("%s is not a valid %s", name, map[string]string{"int": "number",
				"duration": "duration (such as 5m)", "size": "size (such as 512MiB)"}[f.Value.Type()])
		}
	})
	return err
}

// validate returns an error for the first invalid setting: one sentence that says what to set.
func (o *serveOptions) validate() (err error) {
	if o.dataDir == "" {
		return errors.New("LINTEL_DATA_DIR is not set: name a folder that Lintel may write to")
	}
	for _, b := range o.bounds() {
		if !b.ok {
			return fmt.Errorf("%s must be %s", variable(b.flag), b.words)
		}
	}
	o.mirrorRepository = min(o.mirrorRepository, o.mirrorBytes) // one copy may take as much as all of them
	if u, err := url.Parse(o.githubURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("LINTEL_GITHUB_URL is not an http or https address")
	}
	if o.publicURL != "" {
		if o.publicURL, err = github.ParseAddress(o.publicURL); err != nil {
			return fmt.Errorf("LINTEL_PUBLIC_URL is not usable: %w", err)
		}
		if !github.Confidential(o.publicURL) {
			return errors.New("LINTEL_PUBLIC_URL is not usable: the address must begin with https, unless it points " +
				"to this machine")
		}
	}
	if o.serves, err = parseAccounts(o.accounts); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return errors.New("LINTEL_LISTEN is not an address such as :8080")
	}
	if o.sources != "" {
		if o.rules, err = fetch.LoadPolicy(o.sources); err != nil {
			return fmt.Errorf("LINTEL_SOURCES cannot be used: %w", err)
		}
	}
	return nil
}

func within[T cmp.Ordered](value, least, most T) bool { return value >= least && value <= most }

// serve runs the server until ctx ends. Messages that the operator has to see, but that must not be in a log, are
// written to out.
func serve(ctx context.Context, o serveOptions, out io.Writer, log *slog.Logger) error {
	if err := o.validate(); err != nil {
		return err
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	o.again = again
	app, err := o.app()
	if err != nil {
		return err
	}
	var page *github.Setup
	if app == nil {
		if page, err = o.newSetup(log); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("LINTEL_LISTEN cannot be used: %w", err)
	}
	defer listener.Close()

	opening, cancel := context.WithTimeout(ctx, openQueue)
	defer cancel()
	config := store.Config{Dir: filepath.Join(o.dataDir, "queue"), URL: o.natsURL, Log: log}
	if app != nil {
		config.App = app.id
	}
	jobs, err := store.Open(opening, config)
	if err != nil {
		return err
	}
	defer jobs.Close()
	if page != nil {
		return o.registerFirst(ctx, listener, page, jobs, out, log)
	}
	return o.work(ctx, listener, nil, app, jobs, log)
}

// work runs the server as an App until ctx ends. If a front serves HTTP on the listener already, the server takes it over.
func (o *serveOptions) work(ctx context.Context, listener net.Listener, front *worker.Front, app *identity,
	jobs *store.Queue, log *slog.Logger) error {
	opening, opened := context.WithTimeout(ctx, openQueue)
	defer opened()
	server, release, err := o.server(opening, app, jobs, log)
	if err != nil {
		return err
	}
	defer release()
	if front != nil {
		front.Set(server.Handler())
	}
	queue := "nats"
	if o.natsURL == "" {
		queue = "embedded"
	}
	log.Info("serving", "listen", listener.Addr().String(), "workers", o.workers, "queue", queue)
	if front != nil {
		return server.Work(ctx)
	}
	return server.Run(ctx, listener)
}

// server creates the server; release stops its sandboxes.
func (o *serveOptions) server(ctx context.Context, app *identity, jobs *store.Queue,
	log *slog.Logger) (server *worker.Server, release func(), err error) {
	dataDir, err := filepath.Abs(o.dataDir) // the sandboxes work elsewhere
	if err != nil {
		return nil, nil, fmt.Errorf("LINTEL_DATA_DIR cannot be used: %w", err)
	}
	repositories, cache := filepath.Join(dataDir, "mirrors"), filepath.Join(dataDir, "cache")
	mirrors, err := mirror.New(mirror.Config{Dir: repositories, Client: app.client, MaxBytes: int64(o.mirrorRepository),
		TotalBytes: int64(o.mirrorBytes), Busy: max(time.Hour, o.reading())})
	if err != nil {
		return nil, nil, fmt.Errorf("LINTEL_DATA_DIR cannot be used: %w", err)
	}
	outside, err := o.sourceCache(dataDir, app, log)
	if err != nil {
		return nil, nil, err
	}
	guard, err := o.access(ctx, app, jobs, log)
	if err != nil {
		return nil, nil, err
	}
	kept := &caches{mirrors: mirrors, fetched: outside, cache: cache, limit: int64(o.cacheBytes)}
	shown, err := o.newPages(jobs, guard, log)
	if err != nil {
		return nil, nil, fmt.Errorf("the pages cannot be served: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("the running program cannot be found: %w", err)
	}
	if err := sandbox.Sweep(); err != nil {
		log.Warn("temporary files of killed servers in TMPDIR could not be removed", "error", remote.WithoutPath(err))
	}
	sandboxes := sandbox.New(sandbox.Config{Executable: executable, Children: o.workers, Timeout: o.checkTimeout,
		MemoryLimit: int64(o.checkMemory) << 20, Log: log, Complete: mirrors.Complete, Owned: kept.owned(log)})
	metrics := worker.NewMetrics(jobs.Depth, func() float64 { return float64(sandboxes.Restarts()) })
	metrics.WatchBudgets(app.client.Budgets)
	app.client.ShareWith(jobs.Processes)
	metrics.WatchDisk(kept.sizes)
	build := version()
	metrics.SetBuild(build)
	hook := github.WebhookConfig{Secret: app.secret, Queue: jobs, Revoked: guard.Revoke, Serves: o.serves,
		Unserved: metrics.Unserved, Log: log}
	if shown != nil {
		hook.Gone = shown.store.Gone
	}
	intake, err := github.NewWebhook(hook)
	if err != nil {
		return nil, nil, err
	}
	rotation := o.rotation(app, intake, log)
	alarm := worker.NewAlarm(jobs, log)
	sweep := worker.SweepConfig{Client: app.client, Queue: jobs, Ends: alarm.Set, Serves: o.serves, Drop: jobs.Drop,
		Lost: jobs.Lost(), Interval: o.sweepInterval, Log: log}
	server = &worker.Server{
		Webhook: intake, Metrics: metrics, Queue: jobs, Workers: o.workers, Log: log,
		Routes: guard.Routes,
		Worker: &worker.Worker{
			Client: app.client, Mirror: mirrors, Sandbox: sandboxes, Jobs: jobs, Cache: cache, Alarm: alarm,
			Remotes:        outside.For,
			PreviewSummary: func(p *report.FleetPreview) string { return output.FleetPreview(p, worker.MaxSummary) },
			Pace:           app.client, Patience: patience,
			Fitness: &worker.Fitness{Folders: map[string]string{"LINTEL_DATA_DIR": dataDir, "LINTEL_DATA_DIR/mirrors": repositories,
				"LINTEL_DATA_DIR/cache": cache, "LINTEL_DATA_DIR/sources": filepath.Join(dataDir, "sources"), "TMPDIR": os.TempDir()}},
			Version: fmt.Sprintf("%s %s %t", build.Number, build.Commit, build.Modified),
			Now:     time.Now, Log: log, Metrics: metrics,
		},
		Ready: map[string]func(context.Context) error{"sandbox": func(context.Context) error { return runnable(executable) }},
	}
	if shown != nil {
		sweep.Reached, server.Pages, server.Worker.Results = shown.store.Retain, shown.handler, shown.keeper
	}
	sweeper := worker.NewSweeper(sweep)
	server.Sweep = func(ctx context.Context) { cleanUp(ctx, kept, log, sweeper.Run, rotation.run) }
	return server, func() { _ = sandboxes.Close() }, nil // the children are ended by force if need be
}

// runnable returns an error if a sandbox could not be started: the program's file was replaced or removed.
func runnable(executable string) error {
	info, err := os.Stat(executable)
	if err == nil && info.Mode()&0o111 == 0 {
		err = errors.New("the program is not executable")
	}
	return err
}

// size is a number of bytes as a flag: 1048576, 512MiB, 2GiB.
type size int64

type unit struct {
	name  string
	bytes int64
}

func units() []unit {
	return []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
}

// String implements pflag.Value.
func (s *size) String() string {
	text := strconv.FormatInt(int64(*s), 10)
	for _, u := range units() {
		if *s > 0 && int64(*s)%u.bytes == 0 {
			text = strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return text
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	factor := int64(1)
	for _, u := range units() {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, factor = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return errors.New("not a size such as 512MiB or 2GiB")
	}
	*s = size(n * factor)
	return nil
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
