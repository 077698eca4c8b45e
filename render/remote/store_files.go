package remote

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// TreeFile is a file to be written to a tree.
type TreeFile struct {
	Name string // slash path below the top
	Data []byte
}

// WriteFiles writes files as a tree that the reference of key keeps, and returns its object id. A later file replaces
// an earlier one with the same name.
func (s *Store) WriteFiles(ctx context.Context, key string, files []TreeFile) (tree string, err error) {
	// Git does not write objects that the store has, so these must not be removed before the reference exists.
	unlock, err := s.using(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	scratch, err := s.Scratch()
	if err != nil {
		return "", err
	}
	defer scratch.Close()
	out, err := scratch.Run(ctx, gitcmd.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: stream(files)})
	if err != nil {
		return "", fmt.Errorf("writing the store: %w", err)
	}
	// "ls" of the top folder prints "040000 tree ID\t".
	fields := strings.Fields(string(out))
	if len(fields) != 3 || fields[1] != "tree" {
		return "", fmt.Errorf("writing the store: git gave an unexpected answer")
	}
	return fields[2], scratch.Import(ctx, key, fields[2])
}

// stream returns input for git-fast-import(1): one commit with the wanted tree.
func stream(files []TreeFile) string {
	var b strings.Builder
	size := 200
	for _, f := range files {
		size += len(f.Data) + len(f.Name) + 60
	}
	b.Grow(size)
	b.WriteString("commit refs/heads/main\nmark :1\ncommitter lintel <> 0 +0000\ndata 0\n")
	for _, f := range files {
		b.WriteString("M 100644 inline " + quoted(f.Name) + "\ndata " + strconv.Itoa(len(f.Data)) + "\n")
		b.Write(f.Data)
		b.WriteByte('\n')
	}
	b.WriteString("\nls :1 \"\"\ndone\n")
	return b.String()
}

// quoted quotes a path like git, as a C string.
func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
