package helm

import (
	"strings"
)

// Helm parses each printed document to find its kind, which costs more than everything else in a chart with large
// objects. Its order only depends on the kind. So Helm gets only the head of a document, where the head certainly has
// the kind.

// head returns the lines of a document with its kind and metadata. It returns the whole document if that has an unusual
// style or may be a hook.
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
		case '-': // a list may have the same indentation as its key
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
