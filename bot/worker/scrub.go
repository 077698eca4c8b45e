package worker

import (
	"regexp"
	"strings"
)

// secrets are the forms in which credentials of GitHub or of URLs could get into the text of an error.
var secrets = regexp.MustCompile(
	`gh[a-z]_[0-9A-Za-z_.-]+|github_pat_[0-9A-Za-z_]+|eyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_.-]+|` +
		`(?i:bearer|basic|token)\s+[0-9A-Za-z+/=_.-]{16,}|://[^@/\s]+@`)

// hostPaths are absolute paths of at least two parts that do not belong to a URL.
var hostPaths = regexp.MustCompile(`(^|[\s"'(=])/[^\s"'():,]+/[^\s"'():,]*`)

// scrub takes credentials and host paths out of a text that others wrote.
func scrub(text string) string {
	text = secrets.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "://") {
			return "://"
		}
		return "[credential]"
	})
	return hostPaths.ReplaceAllString(text, "$1[path]")
}
