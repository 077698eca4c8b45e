package page

import (
	"net/url"
	"strconv"
	"strings"
)

// Blob returns the addresses of lines of files at a commit of a repository on GitHub, of which web is the address; line 0
// is the file. They are percent-encoded (RFC 3986).
func Blob(web, commit string) func(path string, line int) string {
	return func(path string, line int) string {
		address := strings.TrimSuffix(web, "/") + "/blob/" + commit + "/" + (&url.URL{Path: path}).EscapedPath()
		if line > 0 {
			address += "#L" + strconv.Itoa(line)
		}
		return address
	}
}
