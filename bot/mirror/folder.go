package mirror

import "github.com/lintel-bot/lintel/bot/github"

// GitDir is where the mirror of a repository is, or will be: all that its checks read of the mirrors.
func (m *Mirrors) GitDir(repo github.Repo) string { return m.gitDir(repo) }
