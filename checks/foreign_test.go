package checks_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	deploysApps = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\n" +
		"spec:\n" +
		"  source: {repoURL: https://x.example/r.git, path: apps, directory: {recurse: true}}\n" +
		"  destination: {server: x, namespace: apps}\n"
	lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
)

// wide encodes a text as UTF-16, as some editors save it.
func wide(text string, order binary.AppendByteOrder) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// A file that is deployed but is not plain YAML of this repository is checked, or reported as not checked.
func TestForeignFiles(t *testing.T) {
	other := strings.ReplaceAll(badPod, "name: a", "name: b")
	deep := "---\napiVersion: x.io/v1\nkind: Deep\nspec: " + strings.Repeat("{a: ", 120) + strings.Repeat("}", 120) + "\n"
	for _, c := range []struct {
		name     string
		before   func(r *treetest.Repo)
		after    func(r *treetest.Repo)
		want     report.Conclusion
		mentions string
	}{
		{"UTF-16", nil, func(r *treetest.Repo) { r.Write("apps/b.yaml", wide(other, binary.LittleEndian)) },
			report.Failure, "apps/b.yaml"},
		{"UTF-16, the other order", nil,
			func(r *treetest.Repo) { r.Write("apps/b.yaml", wide(other, binary.BigEndian)) }, report.Failure, "apps/b.yaml"},
		{"UTF-16 and no manifest", nil,
			func(r *treetest.Repo) { r.Write("apps/b.json", wide(`{"a": 1}`, binary.LittleEndian)) }, report.Success, ""},
		{"escaped keys beside an invalid document", nil, func(r *treetest.Repo) {
			r.Write("apps/b.yaml", strings.NewReplacer("kind:", `"\u006bind":`, "apiVersion:", `"\x61piVersion":`).
				Replace(other)+strings.ReplaceAll(deep, "kind", `"\u006bind"`))
		}, report.Failure, "apps/b.yaml"},
		{"indented keys beside an invalid document", nil, func(r *treetest.Repo) {
			r.Write("apps/b.yaml", "  "+strings.ReplaceAll(strings.TrimSpace(other), "\n", "\n  ")+"\n"+
				strings.ReplaceAll(strings.ReplaceAll(deep, "kind", " kind"), "apiVersion", " apiVersion"))
		}, report.Failure, "apps/b.yaml"},
		{"new file in Git LFS", nil, func(r *treetest.Repo) { r.Write("apps/b.yaml", lfs) }, report.Neutral, "Git LFS"},
		{"file moved to Git LFS", nil, func(r *treetest.Repo) { r.Write("apps/a.yaml", lfs) }, report.Neutral, "Git LFS"},
		{"Git LFS file that is no manifest", nil, func(r *treetest.Repo) { r.Write("docs/a.png", lfs) }, report.Success, ""},
		{"submodule", nil, func(r *treetest.Repo) { submodule(r, "apps/sub") }, report.Neutral, "apps/sub"},
		{"submodule in a folder that an object deploys", func(r *treetest.Repo) { r.Write("argo/a.yaml", deploysApps) },
			func(r *treetest.Repo) { submodule(r, "apps/sub") }, report.Neutral, "argo/a.yaml"},
		{"folder that becomes a submodule", func(r *treetest.Repo) { r.Write("apps/sub/c.yaml", "a: 1\n") },
			func(r *treetest.Repo) {
				_ = os.Remove(filepath.Join(r.Dir, "apps/sub/c.yaml"))
				submodule(r, "apps/sub")
			}, report.Neutral, "apps/sub"},
		{"hidden file", nil, func(r *treetest.Repo) { r.Write("apps/.b.yaml", other) }, report.Failure, "apps/.b.yaml"},
		{"hidden file of a tool", nil, func(r *treetest.Repo) { r.Write("apps/.tool.yaml", "rules: {}\n") },
			report.Success, ""},
		{"hidden folder", nil, func(r *treetest.Repo) { r.Write(".k8s/b.yaml", other) }, report.Neutral, ".k8s/b.yaml"},
		{"hidden folder that is deployed",
			func(r *treetest.Repo) {
				r.Write("argo/a.yaml", strings.ReplaceAll(deploysApps, "path: apps", "path: .k8s"))
				r.Write(".k8s/a.yaml", goodPod)
			},
			func(r *treetest.Repo) { r.Write(".k8s/b.yaml", other) }, report.Failure, ".k8s/b.yaml"},
		{"the folder .github", nil, func(r *treetest.Repo) { r.Write(".github/kind/b.yaml", other) }, report.Success, ""},
		{"Jsonnet", nil, func(r *treetest.Repo) { r.Write("apps/b.jsonnet", "{}") }, report.Neutral, "apps/b.jsonnet"},
		{"Jsonnet library",
			func(r *treetest.Repo) {
				r.Write("argo/a.yaml", deploysApps)
				r.Write("apps/b.jsonnet", "import '../l.libsonnet'")
			},
			func(r *treetest.Repo) { r.Write("l.libsonnet", "{}") }, report.Neutral, "l.libsonnet"},
		{"Jsonnet that nobody deploys", nil, func(r *treetest.Repo) { r.Write("tools/b.jsonnet", "{}") }, report.Success, ""},

		// Argo CD and Flux follow the links in a folder that they deploy.
		{"linked file", func(r *treetest.Repo) { r.Write("docs/b.txt", goodPod); r.Symlink("../docs/b.txt", "apps/b.yaml") },
			func(r *treetest.Repo) { r.Write("docs/b.txt", other) }, report.Failure, "docs/b.txt"},
		{"linked file that an object deploys", func(r *treetest.Repo) {
			r.Write("argo/a.yaml", deploysApps)
			r.Write("docs/b.txt", goodPod)
			r.Symlink("../docs/b.txt", "apps/b.yaml")
		}, func(r *treetest.Repo) { r.Write("docs/b.txt", other) }, report.Failure, "docs/b.txt"},
		{"chain of links that an object deploys", func(r *treetest.Repo) {
			r.Write("argo/a.yaml", deploysApps)
			r.Write(".store/b", goodPod)
			r.Symlink("../.store/b", "docs/b.txt")
			r.Symlink("../docs/b.txt", "apps/b.yaml")
		}, func(r *treetest.Repo) { r.Write(".store/b", other) }, report.Failure, ".store/b"},
		{"linked folder that an object deploys", func(r *treetest.Repo) {
			r.Write("argo/a.yaml", strings.ReplaceAll(deploysApps, "path: apps", "path: live"))
			r.Write(".one/b.yaml", goodPod)
			r.Write(".two/b.yaml", other)
			r.Symlink(".one", "live")
		}, func(r *treetest.Repo) {
			_ = os.Remove(filepath.Join(r.Dir, "live"))
			r.Symlink(".two", "live")
		}, report.Failure, ".two/b.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			if c.before != nil {
				c.before(r)
			}
			base := r.Commit(pods + "-- apps/a.yaml --\n" + goodPod)
			c.after(r)
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: r.Snapshot()})
			all := toldOf(rep)
			if rep.Conclusion != c.want || !strings.Contains(all, c.mentions) || strings.Contains(rep.Title, "outside this change") {
				t.Errorf("%s, %s, want %s and %q:\n%s", rep.Conclusion, rep.Title, c.want, c.mentions, all)
			}
		})
	}
}

// submodule adds a submodule at a path, as if it had been checked out.
func submodule(r *treetest.Repo, name string) {
	_ = os.MkdirAll(filepath.Join(r.Dir, name), 0o755)
	r.Git("rm", "--quiet", "-r", "--cached", "--ignore-unmatch", name)
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+r.Rev("HEAD")+","+name)
}
