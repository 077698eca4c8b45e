package treetest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// errByGit means that only git itself can commit a work tree as it would: it has ignored files, attributes, submodules.
var errByGit = errors.New("left to git")

// start makes an empty repository as "git init" does, without a process.
func (r *Repo) start() {
	r.t.Helper()
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/pack/.keep": "", "refs/heads/.keep": "",
		"refs/tags/.keep": "", "info/exclude": "",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"} {
		file := filepath.Join(r.GitDir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil && filepath.Base(file) != ".keep" {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// commit commits the work tree to the branch of HEAD as "git add --all" and "git commit" do, but for the index, and returns
// the commit. Processes of git take most of the time of tests that need many small repositories.
func (r *Repo) commit() (string, error) {
	at, err := time.Parse(time.RFC3339, r.Date)
	if err != nil {
		return "", errByGit
	}
	head, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if _, err := os.Stat(filepath.Join(r.GitDir, "packed-refs")); err == nil || !ok {
		return "", errByGit
	}
	file := filepath.Join(r.GitDir, filepath.FromSlash(branch))
	parent, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	objects := pack{known: r.packed}
	tree, err := r.tree(&objects, r.Dir)
	if err != nil {
		return "", err
	}
	if tree == nil {
		tree = objects.add("tree", nil)
	}
	text := fmt.Sprintf("tree %x\n", tree)
	if len(parent) > 0 {
		text += "parent " + strings.TrimSpace(string(parent)) + "\n"
	}
	for _, who := range []string{"author", "committer"} {
		text += fmt.Sprintf("%s t <t@example.com> %d %s\n", who, at.Unix(), at.Format("-0700"))
	}
	id := hex.EncodeToString(objects.add("commit", []byte(text+"\nchange\n")))
	if err := objects.write(filepath.Join(r.GitDir, "objects", "pack")); err != nil {
		return "", err
	}
	return id, os.WriteFile(file, []byte(id+"\n"), 0o644)
}

// tree adds the tree of a folder and returns its id, nil for a folder without files.
func (r *Repo) tree(objects *pack, dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type entry struct {
		order, mode, name string
		id                []byte
	}
	var all []entry
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		if dir == r.Dir && name == ".git" {
			continue
		}
		made := entry{name, "100644", name, nil}
		var data []byte
		switch {
		case name == ".git" || name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules":
			return nil, errByGit
		case e.IsDir():
			made.order, made.mode = name+"/", "40000"
			if made.id, err = r.tree(objects, path); err == nil && made.id == nil {
				continue
			}
		case e.Type() == os.ModeSymlink:
			var to string
			made.mode = "120000"
			if to, err = os.Readlink(path); err == nil {
				made.id = objects.add("blob", []byte(to))
			}
		case e.Type().IsRegular():
			info, wrong := e.Info()
			if wrong == nil && info.Mode()&0o100 != 0 {
				made.mode = "100755"
			}
			if data, err = os.ReadFile(path); err == nil {
				made.id = objects.add("blob", data)
			}
			err = errors.Join(wrong, err)
		default:
			return nil, errByGit
		}
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.order, b.order) })
	var text bytes.Buffer
	for _, e := range all {
		fmt.Fprintf(&text, "%s %s\x00%s", e.mode, e.name, e.id)
	}
	return objects.add("tree", text.Bytes()), nil
}
