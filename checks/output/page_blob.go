package output

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// outside is a file of another git repository.
var outside = regexp.MustCompile(`^(https?://[^/@]+/[^@]+)@([0-9a-f]{40,64})//(.+)$`)

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// Blob returns the addresses of lines of files at a commit of a repository on GitHub, of which web is the address; line 0
// is the file. They are percent-encoded (RFC 3986). A path can be that of a file of another repository of the same host at
// a revision (see origin.Link); elsewhere it is not known how lines are shown, and the address is empty.
func Blob(web, commit string) func(path string, line int) string {
	return func(path string, line int) string {
		web, commit, path := strings.TrimSuffix(web, "/"), commit, path
		if strings.Contains(path, "://") {
			m := outside.FindStringSubmatch(path)
			if m == nil || host(m[1]) != host(web) {
				return ""
			}
			web, commit, path = strings.TrimSuffix(m[1], ".git"), m[2], m[3]
		}
		address := web + "/blob/" + commit + "/" + (&url.URL{Path: path}).EscapedPath()
		if line > 0 {
			address += "#L" + strconv.Itoa(line)
		}
		return address
	}
}
