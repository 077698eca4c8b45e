package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/lintel-bot/lintel/checks/report"
)

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
