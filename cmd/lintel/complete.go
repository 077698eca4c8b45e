package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
)

// completionTime is how long a completion may take; if it takes longer, nothing is completed.
const completionTime = 100 * time.Millisecond

// maxCompletions limits how many files are read for a completion, and how many completions are listed.
const maxCompletions = 1000

// addCompletions adds shell completion for words that only the repository knows: roots, and names in tests. On errors
// nothing is completed, and no message is printed, since it would end up in the user's command line.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "check", "diff", "fetch":
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				return completeRoots(cmd, args, word), cobra.ShellCompDirectiveNoFileComp
			}
		case "blame", "render":
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return completeRoots(cmd, args, word), cobra.ShellCompDirectiveDefault // any folder can be asked for
			}
		case "explain":
			cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				list := report.Mapped(checks.Topics(), func(e report.Explanation) string { return e.Name + "\t" + e.About })
				return list, cobra.ShellCompDirectiveNoFileComp
			}
		case "test":
			_ = cmd.RegisterFlagCompletionFunc("run", completeRun) // the flag exists
		}
	}
}

// completeRoots lists the roots of the repository that start with a word and are not named already, each with its kind.
func completeRoots(cmd *cobra.Command, args []string, word string) (list []string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	flag := func(name string) (value string) { // empty if the command has no such flag
		if f := cmd.Flag(name); f != nil {
			value = f.Value.String()
		}
		return value
	}
	for _, r := range rootsFor(ctx, flag("repo"), cmp.Or(flag("head"), flag("rev"), "HEAD")) {
		if strings.HasPrefix(r.Name, word) && !slices.Contains(args, r.Name) && typed(r.Name) {
			list = append(list, r.Name+"\t"+r.Kind)
		}
	}
	return list
}

// typed reports whether a name can be typed on a command line.
func typed(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r)
	})
}

// rootsFor lists the roots of a commit: from the names kept for it, or found within the time limit, or else from those
// kept for another commit. Uncommitted files are not considered: that would take too long.
func rootsFor(ctx context.Context, dir, rev string) []report.ListedRoot {
	repo, err := openRepository(ctx, dir)
	if err != nil {
		return nil
	}
	tree, err := repo.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}")
	if err != nil {
		return nil
	}
	kept := readNames(repo.gitDir)
	if kept.Tree == tree {
		return kept.Roots
	}
	if found := listRoots(ctx, repo, tree); found != nil {
		keepNames(repo.gitDir, names{tree, found})
		return found
	}
	return kept.Roots
}

// listRoots lets a sandbox list the roots of a tree. It returns nil if that fails or takes too long.
func listRoots(ctx context.Context, repo *repository, tree string) (list []report.ListedRoot) {
	q := report.Query{Show: report.ShowNames, Output: "json", Change: report.Change{GitDir: repo.gitDir, Git: repo.git,
		Head: tree, Repository: repo.names(ctx), Branches: repo.branches(ctx, "")}}
	child := repo.sandbox(ctx, "", nil, nil, 0)
	defer child.Close()
	if ctx.Err() != nil {
		return nil
	}
	out, err := child.Show(ctx, q)
	if err != nil || json.Unmarshal(out.Text, &list) != nil {
		return nil
	}
	return list
}

// completeRun lists the possible values of --run of test: the names of policies, rules and resources in the tests of
// the given folders, after the part already typed.
func completeRun(_ *cobra.Command, dirs []string, word string) ([]string, cobra.ShellCompDirective) {
	before, last := "", word
	if i := strings.LastIndexByte(word, ','); i >= 0 {
		before, last = word[:i+1], word[i+1:]
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	known := map[string]bool{}
	key, _, named := strings.Cut(last, "=")
	if !named {
		return under([]string{"policy=", "resource=", "rule="}, before, last),
			cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	deadline := time.Now().Add(completionTime)
	for _, dir := range dirs {
		tests, err := eval.FindTests(os.DirFS(dir), ".", eval.TestName)
		if err != nil {
			continue
		}
		for _, test := range tests[:min(len(tests), maxCompletions)] {
			if time.Now().After(deadline) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			namesIn(filepath.Join(dir, filepath.FromSlash(test)), key, known)
		}
	}
	var list []string
	for name := range known {
		if typed(name) && !strings.ContainsAny(name, ",=") {
			list = append(list, key+"="+name)
		}
	}
	slices.Sort(list)
	return under(list, before, last), cobra.ShellCompDirectiveNoFileComp
}

// under keeps the words that start with the last word typed, and puts the part before it in front.
func under(words []string, before, last string) (list []string) {
	for _, w := range words {
		if strings.HasPrefix(w, last) {
			list = append(list, before+w)
		}
	}
	return list
}

// namesIn adds the names of one kind in a test.
func namesIn(file, key string, known map[string]bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	var test struct {
		Results []struct {
			Policy, Rule, Resource string
			Resources              []any // names, or objects in other versions
		}
	}
	_ = yaml.Unmarshal(data, &test) // what is of another form names nothing
	for _, r := range test.Results {
		switch key {
		case "policy":
			known[r.Policy] = true
		case "rule":
			known[r.Rule] = true
		case "resource":
			known[r.Resource] = true
			for _, name := range r.Resources {
				if s, ok := name.(string); ok {
					known[s] = true
				}
			}
		}
	}
	delete(known, "")
}

// completeFormats completes the name of a format, and a file after NAME=.
func completeFormats(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		name, file, named := strings.Cut(word, "=")
		if !named {
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		if !slices.Contains(names, name) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		dir, part := filepath.Split(file)
		entries, err := os.ReadDir(filepath.Clean("./" + dir))
		if filepath.IsAbs(dir) {
			entries, err = os.ReadDir(dir)
		}
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list []string
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), part) || !typed(e.Name()) || part == "" && strings.HasPrefix(e.Name(), ".") ||
				len(list) == maxCompletions {
				continue
			}
			found := name + "=" + dir + e.Name()
			if e.IsDir() {
				found += string(filepath.Separator)
			}
			list = append(list, found)
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(s, string(filepath.Separator)) }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return list, directive
	}
}

// names are the roots of a tree, kept for completion. They are used for nothing else.
type names struct {
	Tree  string              `json:"tree"`
	Roots []report.ListedRoot `json:"roots"`
}

// maxNames limits the size of the file with the names.
const maxNames = 8 << 20

// namesFile returns the file for the names of a repository, "" if there is no place for it. It is not in the cache,
// which sandboxes can write.
func namesFile(gitDir string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(gitDir))
	return filepath.Join(dir, "lintel-names", hex.EncodeToString(sum[:16])+".json")
}

// readNames returns the names kept for a repository, nothing if they cannot be read.
func readNames(gitDir string) (n names) {
	data, err := readAtMost(namesFile(gitDir), maxNames)
	if err != nil || len(data) > maxNames || json.Unmarshal(data, &n) != nil {
		return names{}
	}
	return n
}

// keepNames keeps the names of a repository. Errors are ignored, since the names can be found again.
func keepNames(gitDir string, n names) {
	file := namesFile(gitDir)
	data, err := json.Marshal(n)
	if err != nil || file == "" || len(data) > maxNames || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = replaceFile(file, data, 0o600)
}
