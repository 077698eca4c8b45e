package helm

import (
	"strings"
)

// Helm reads each document that is printed as a whole to find out what it is, which costs more than everything else of
// rendering a chart with large objects. Its order takes no more than the kind, so it is given the head of a document
// where that is one for certain.

// head returns the lines of a document that say its kind and metadata. The whole document is returned where it is
// written in another way than nearly all are, or may be a hook.
func head(document string) string {
	if strings.Contains(document, "helm.sh/hook") || strings.ContainsAny(document, "\t\r") || marked(document, '*') {
		return document
	}
	var out strings.Builder
	keep := false
	for line := range strings.Lines(document) {
		switch line[0] {
		case ' ':
		case '\n', '#':
			continue
		case '-': // a list may stand as far left as its key
			if !strings.HasPrefix(line, "- ") {
				return document
			}
		default:
			key, rest, ok := strings.Cut(line, ":")
			if !ok || !isWord(key) || rest != "" && rest[0] != ' ' && rest[0] != '\n' {
				return document
			}
			keep = key == "apiVersion" || key == "kind" || key == "metadata"
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

func isWord(text string) bool {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return text != ""
}
