package diff

import (
	"slices"

	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
)

// reachOf asks which roots of a commit a file reaches.
type reachOf struct {
	in   *deploy.Set
	file string
}

// Deciding returns the files that may decide whether what a file has is deployed, where, and with which changes: the objects
// that deploy it with their variables, what these objects are made of, what deploys them, and so on, at the head and by the
// base branch. It includes files that the change does not touch. Do not change the result.
func (t *Trees) Deciding(file string) map[string]bool {
	return t.deciding.Get(file, func() map[string]bool {
		files := map[string]bool{}
		for _, c := range []Commit{t.Head, t.Rules} {
			t.decidingAt(c, file, files)
		}
		return files
	})
}

// decidingAt adds the files of one commit.
func (t *Trees) decidingAt(c Commit, file string, files map[string]bool) {
	built, asked := map[roots.Root]bool{}, map[string]bool{}
	for queue := []string{file}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == "" || asked[queue[0]] {
			continue
		}
		asked[queue[0]], files[queue[0]] = true, true
		for _, root := range c.Roots.Reach(queue[:1], nil) {
			built[root] = root.Kind != roots.Folder // other files of a folder change nothing here
			queue = append(queue, c.Roots.DeployedBy(root)...)
			for _, one := range c.Roots.Deployers(root) {
				queue = append(queue, one.Where.Path, one.Element.Path)
				for _, v := range one.Substitute.Variables {
					queue = append(queue, v.Where.Path)
				}
			}
		}
		for _, dir := range c.Roots.FoldersAround(queue[:1], nil) {
			if k, err := c.Roots.Kustomization(dir); k != nil && err == nil {
				files[k.Path] = true
			}
		}
	}
	for _, d := range t.Differences {
		reached := t.reached.Get(reachOf{c.Roots, d.Path}, func() []roots.Root { return c.Roots.Reach([]string{d.Path}, nil) })
		if slices.ContainsFunc(reached, func(r roots.Root) bool { return built[r] }) {
			files[d.Path] = true
		}
	}
}
