package kustomization

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Repo is a folder of a remote git repository, as kustomize understands an entry.
type Repo struct {
	URL        string // the argument of "git fetch"
	Folder     string // in the repository, as written; may be empty
	Ref        string // empty: HEAD
	Submodules bool
	// Marked means that the address is clearly meant for kustomize: it has a revision, or marks where the repository
	// ends and the folder begins. Any other address may just as well be that of a file.
	Marked bool
}

// Disk reports whether the repository is on the disk of the machine that builds.
func (r Repo) Disk() bool { return strings.HasPrefix(r.URL, "file://") }

var (
	schemes  = []string{"ssh://", "https://", "http://", "file://"}
	userName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
)

// ParseRepo parses an entry as kustomize does for a folder. It returns false if the entry is not the address of a git
// repository: then it is a path relative to the kustomization.
func ParseRepo(entry string) (Repo, bool) {
	if strings.HasPrefix(entry, "/") {
		return Repo{}, false
	}
	address, query, _ := strings.Cut(entry, "?")
	r := Repo{Submodules: true}
	if values, err := url.ParseQuery(query); err == nil { // an invalid one is ignored
		r.Ref = cmp.Or(values.Get("ref"), values.Get("version"))
		if with, err := strconv.ParseBool(values.Get("submodules")); err == nil {
			r.Submodules = with
		}
	}
	host, rest, ok := splitHost(address)
	if !ok {
		return Repo{}, false
	}
	repository, folder, marked, ok := splitFolder(rest, host == "file://")
	if !ok || repository == "" || leaves(folder) {
		return Repo{}, false
	}
	r.URL, r.Folder = host+repository, strings.TrimPrefix(folder, "/")
	r.Marked = marked || r.Ref != "" || host == "https://github.com/" && !rawOfGitHub(folder)
	return r, true
}

// splitHost splits an address after the host. An address on GitHub is normalized.
func splitHost(address string) (host, rest string, ok bool) {
	address, _ = cutFold(address, "git::")
	scheme, user := "", ""
	for _, s := range schemes {
		if after, found := cutFold(address, s); found {
			scheme, address = s, after
			break
		}
	}
	user = userName.FindString(address)
	address = address[len(user):]
	if scheme == "file://" {
		return scheme, user + address, true
	}
	lower := strings.ToLower(address)
	github := strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	scp := scheme == "" && (user != "" || github) // host:path
	if scheme == "" && !scp {
		return "", "", false
	}
	end := strings.IndexByte(address, '/')
	if colon := strings.IndexByte(address, ':'); scp && (end < 0 || colon > 0 && colon < end) {
		end = colon
	}
	host, rest = address[:end+1], address[end+1:]
	if end < 0 {
		host, rest = address, ""
	}
	switch {
	case github && (scheme == "ssh://" || user != ""):
		return user + "github.com:", rest, true
	case github:
		return "https://github.com/", rest, true
	}
	return scheme + user + host, rest, host != ""
}

// splitFolder splits the rest of an address into the paths of the repository and the folder. marked means that the
// address itself says where the repository ends.
func splitFolder(rest string, whole bool) (repository, folder string, marked, ok bool) {
	const azure = "_git/"
	if at := strings.Index(rest, azure); at >= 0 {
		at += len(azure)
		name, folder, _ := strings.Cut(rest[at:], "/")
		return rest[:at] + name, folder, true, true
	}
	if before, after, found := strings.Cut(rest, "//"); found {
		return before, after, true, true
	}
	if at := strings.Index(rest, ".git"); at >= 0 {
		at += len(".git")
		return rest[:at], rest[at:], true, true
	}
	if whole {
		return rest, "", true, true
	}
	parts := strings.SplitN(rest, "/", 3)
	switch len(parts) {
	case 1:
		return "", "", false, false
	case 2:
		return rest, "", false, true
	}
	return parts[0] + "/" + parts[1], parts[2], false, true
}

// leaves reports whether a path leads out of the repository.
func leaves(folder string) bool {
	clean := path.Clean(strings.TrimPrefix(folder, "/"))
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// rawOfGitHub reports whether a path after a GitHub repository is one where GitHub serves files.
func rawOfGitHub(folder string) bool {
	first, _, _ := strings.Cut(folder, "/")
	return first == "raw" || first == "releases" || first == "archive"
}

// cutFold is strings.CutPrefix for a lower-case prefix, ignoring letter case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.ToLower(s[:len(prefix)]) == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

// FileURL returns the URL that kustomize would use for an entry where it expects a file; false if the entry is a path.
func FileURL(entry string) (string, bool) {
	if u, err := url.Parse(entry); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	u, err := url.ParseRequestURI(entry)
	if err != nil {
		return "", false
	}
	return u.String(), true
}

// FileFirst reports whether an address should be tried as a file before it is tried as a repository. Kustomize asks for
// the file first and takes the repository only if there is none, or it is not YAML; but for an address meant for a
// repository, no server has a file.
func FileFirst(entry string, r Repo) bool {
	address, _, _ := strings.Cut(entry, "?")
	switch path.Ext(address) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return !r.Marked
}
