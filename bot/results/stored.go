// Package results keeps what checks came to and serves the pages about it: of one result, of a repository, of an
// organisation. An Access says who may see what.
package results

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// Schema is the version of what is stored. A Stored of another one is shown as far as it can be read.
const Schema = 1

// ErrNone means that there is no such result, or not any more.
var ErrNone = errors.New("there is no such result")

// Pull is the pull request that a result is about.
type Pull struct {
	Number   int    `json:"number"`
	Title    string `json:"title,omitempty"`
	Author   string `json:"author,omitempty"`
	BaseRef  string `json:"baseRef,omitempty"` // names of branches
	HeadRef  string `json:"headRef,omitempty"`
	HeadRepo string `json:"headRepo,omitempty"` // "owner/name"; empty where it is gone
	Fork     bool   `json:"fork,omitempty"`
}

// Meta is what there is to say about a result besides its report.
type Meta struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"` // see ID
	// whose it is: named as it was when its newest result was stored, Private likewise; a Guard knows better
	Repository forge.Repository `json:"repository"`

	Pull   *Pull  `json:"pull,omitempty"`   // nil for a branch and a merge group
	Branch string `json:"branch,omitempty"` // the default branch, which was checked as a whole
	Group  string `json:"group,omitempty"`  // branch that a merge group goes into
	// Of is the pull request of another repository of which it says what it would change here. Such a result is in no list
	// but that of the other repository.
	Of *PreviewOf `json:"of,omitempty"`

	Head  string `json:"head"`           // commit that was checked
	Base  string `json:"base,omitempty"` // merge base that it was compared with; empty for a branch
	Rules string `json:"rules"`          // commit that the policies, exceptions and settings are from

	CheckRun   int64             `json:"checkRun,omitempty"` // GitHub's id of the newest check run that shows it
	Conclusion report.Conclusion `json:"conclusion"`
	Title      string            `json:"title"` // the report's line for people

	Asked     time.Time `json:"asked,omitzero"` // when the event came that asked for the check
	Started   time.Time `json:"started,omitzero"`
	Completed time.Time `json:"completed"`

	GitHub  string `json:"github"`            // web address of the host, such as https://github.com
	Command string `json:"command,omitempty"` // what shows the same on a laptop
	Engine  string `json:"engine,omitempty"`  // version of the program

	LeftOut  []string `json:"leftOut,omitempty"`  // fields of the report that were too large to keep
	TooLarge bool     `json:"tooLarge,omitempty"` // of the report only the totals were kept

	// Foreign are private repositories that what was checked is made of. Lines of theirs in the report are for those who
	// may read them.
	Foreign []Foreign `json:"foreign,omitempty"`

	Parts parts `json:"parts"`
}

// Foreign is another repository with the address that the report has for it. One without an id nobody may read.
type Foreign struct {
	Repository forge.Repository `json:"repository"`
	URL        string           `json:"url"`
}

// foreign are the addresses of all that not everybody who may see the result may read.
func (m *Meta) foreign() (urls []string) {
	for _, f := range m.Foreign {
		urls = append(urls, f.URL)
	}
	return urls
}

// parts is where the report is.
type parts struct {
	Name  string `json:"name"`  // of this writing of it
	Count int    `json:"count"` // how many values it is in
	Size  int    `json:"size"`  // of the JSON, in bytes
	Sum   string `json:"sum"`   // SHA-256 of what is in the values, hexadecimal
}

// Stored is one result.
type Stored struct {
	Meta
	Report *report.Report // nil: it cannot be read, or is not there any more; to be checked again
	// Outdated means that another version of the program stored it: what the report lacks may have been said there.
	Outdated bool
}

// ID is the id of a result by the external id of its check run: 32 hexadecimal digits, the same whenever the same job
// comes to the same result, so that what a process stored that died is replaced and not doubled. It is no secret: a
// Guard decides who may see a page.
func ID(externalID string) string {
	sum := sha256.Sum256([]byte(externalID))
	return hex.EncodeToString(sum[:16])
}

// Path is the path of the page of a result, below the public address. Each result has one of its own: an older check
// run goes on to show what it told. ResultsPath has the newest of a commit.
func (m *Meta) Path() string { return ResultsPath(m.Repository, m.Head) + "/" + m.ID }

// ResultsPath is the path of the page with the newest result of a commit.
func ResultsPath(r forge.Repository, head string) string {
	return "/r/" + url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name) + "/" + head
}

// RepositoryPath is the path of the page of a repository.
func RepositoryPath(r forge.Repository) string {
	return OrganisationPath(r.Owner) + "/" + url.PathEscape(r.Name)
}

// OrganisationPath is the path of the page of an account.
func OrganisationPath(owner string) string { return "/o/" + url.PathEscape(owner) }

// PullURL is the web address of the pull request, "" if there is none.
func (m *Meta) PullURL() string {
	if m.Pull == nil {
		return ""
	}
	return m.RepositoryURL() + "/pull/" + strconv.Itoa(m.Pull.Number)
}

// RepositoryURL is the web address of the repository.
func (m *Meta) RepositoryURL() string {
	return strings.TrimRight(m.GitHub, "/") + "/" + url.PathEscape(m.Repository.Owner) + "/" +
		url.PathEscape(m.Repository.Name)
}

// CheckRunURL is the web address of the check run, "" if it is not known.
func (m *Meta) CheckRunURL() string {
	if m.CheckRun == 0 {
		return ""
	}
	return m.RepositoryURL() + "/runs/" + strconv.FormatInt(m.CheckRun, 10)
}

var (
	idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
	// partPattern is the name of a part of a page.
	partPattern = regexp.MustCompile(`^[a-z]{1,20}-[0-9]{1,5}$`)
	// headPattern is a full object id of git.
	headPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// essential are the fields of a report without which there is no page; the others may be left out of one that is too
// large, the largest first: rendered differences before all.
func essential() []string {
	return []string{"conclusion", "title", "all", "findings", "errors", "warnings", "notChecked", "causes", "exceptions",
		"approvers", "stats", "about", "until", "clusters", "upkeep", "outside", "active"}
}

// excerpts is the field that is left out last: the source lines of the findings.
const excerpts = "excerpts"

// pack returns a report as JSON of at most limit bytes, and sets what of it was left out.
func pack(m *Meta, rep *report.Report, limit int) ([]byte, error) {
	m.LeftOut, m.TooLarge = nil, false
	data, err := json.Marshal(rep)
	if err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	if len(data) <= limit {
		return data, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	size := len(data)
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(fields)), func(name string) bool {
		return slices.Contains(essential(), name)
	})
	slices.SortFunc(drop, func(a, b string) int {
		return cmp.Or(compareBool(a == excerpts, b == excerpts), cmp.Compare(len(fields[b]), len(fields[a])),
			cmp.Compare(a, b))
	})
	for _, name := range drop {
		if size <= limit {
			break
		}
		size -= len(fields[name]) + len(name) + len(`"":,`)
		delete(fields, name)
		m.LeftOut = append(m.LeftOut, name)
	}
	if data, err = json.Marshal(fields); err == nil && len(data) > limit {
		m.LeftOut, m.TooLarge = nil, true
		data, err = json.Marshal(&report.Report{Conclusion: rep.Conclusion, Title: rep.Title, All: rep.All,
			Stats: rep.Stats})
	}
	if err != nil {
		return nil, fmt.Errorf("packing a report: %w", err)
	}
	return data, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// readJSON reads what was stored. What another version stored is read as far as it can be: what has another type by now stays
// empty.
func readJSON(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // into memory, which does not fail
	_ = w.Close()
	return b.Bytes()
}

// decompress reads no more than a limit.
func decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
