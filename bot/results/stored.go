// Package results stores the results of checks and serves the pages about them: of one result, of a repository, of an
// organisation. An Access decides who may see which page.
package results

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
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

// Schema is the version of stored records. A Stored with another version is shown as far as it can be read.
const Schema = 1

// ErrNone means that a result does not exist, was removed, or is hidden from the reader.
var ErrNone = errors.New("there is no such result")

// Pull is the pull request that a result is about.
type Pull struct {
	Number int    `json:"number"`
	Title  string `json:"title,omitempty"`
	Author string `json:"author,omitempty"`
	// Nameless says that rules looked at the user, who had no name, see the constant Nameless.
	Nameless bool `json:"nameless,omitempty"`
}

// Nameless tells why rules see a user without a name.
const Nameless = "Others than the author took part in this pull request, or somebody without an account did: policies see a user without a name"

// Meta contains everything about a result except its report.
type Meta struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"` // see ID
	// the repository, with the name and visibility at the time of its newest result; a Guard uses the present ones
	Repository forge.Repository `json:"repository"`

	Pull   *Pull  `json:"pull,omitempty"`   // nil for a branch and a merge group
	Branch string `json:"branch,omitempty"` // the default branch, which was checked as a whole
	Group  string `json:"group,omitempty"`  // target branch of a merge group
	// Of identifies, for a preview, the pull request of another repository whose rules would change here. A preview is
	// listed only on the pages of that repository.
	Of *PreviewOf `json:"of,omitempty"`

	Head  string `json:"head"`           // commit that was checked
	Base  string `json:"base,omitempty"` // merge base for the comparison; empty for a branch
	Rules string `json:"rules"`          // commit of the policies, exceptions and settings

	CheckRun   int64             `json:"checkRun,omitempty"` // GitHub's id of the newest check run that shows it
	Conclusion report.Conclusion `json:"conclusion"`
	Title      string            `json:"title"` // the report's line for people

	Started   time.Time `json:"started,omitzero"`
	Completed time.Time `json:"completed"`

	GitHub  string `json:"github"`            // web address of the host, such as https://github.com
	Command string `json:"command,omitempty"` // command for the same check on a laptop

	LeftOut  []string `json:"leftOut,omitempty"`  // fields of the report that were omitted because of their size
	TooLarge bool     `json:"tooLarge,omitempty"` // only the totals of the report were stored

	// Foreign lists other private repositories whose files the checked manifests use. Their lines in the report are
	// shown only to people who may read them.
	Foreign []Foreign `json:"foreign,omitempty"`

	Parts parts `json:"parts"`
}

// Foreign is another repository, with its address in the report. Without an id, nobody may read it.
type Foreign struct {
	Repository forge.Repository `json:"repository"`
	URL        string           `json:"url"`
}

// parts says where the report is stored.
type parts struct {
	Name  string `json:"name"`  // differs for every write
	Count int    `json:"count"` // number of values
	Size  int    `json:"size"`  // of the JSON, in bytes
	Sum   string `json:"sum"`   // SHA-256 of the values, hexadecimal
}

// Stored is one result.
type Stored struct {
	Meta
	Report *report.Report // nil: it was removed or cannot be read, and the check must be repeated
	// Outdated means that another version of the program stored the result, so the report may lack fields.
	Outdated bool
}

// ID derives the id of a result from the external id of its check run: 32 hexadecimal digits. The same job with the
// same result has the same id, so that a repeated job replaces the result of a killed process. The id is no secret: a
// Guard decides who may see a page.
func ID(externalID string) string { return sumOf([]byte(externalID))[:32] }

// Path returns the path of the page of a result, below the public address. Each result has its own page, so an older
// check run continues to show its result. ResultsPath leads to the newest result of a commit.
func (m *Meta) Path() string { return ResultsPath(m.Repository, m.Head) + "/" + m.ID }

// ResultsPath returns the path of the page with the newest result of a commit.
func ResultsPath(r forge.Repository, head string) string {
	return "/r/" + url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name) + "/" + head
}

// RepositoryPath returns the path of the page of a repository.
func RepositoryPath(r forge.Repository) string {
	return OrganisationPath(r.Owner) + "/" + url.PathEscape(r.Name)
}

// OrganisationPath returns the path of the page of an account.
func OrganisationPath(owner string) string { return "/o/" + url.PathEscape(owner) }

// PullURL returns the web address of the pull request, "" if there is none.
func (m *Meta) PullURL() string {
	if m.Pull == nil {
		return ""
	}
	return m.RepositoryURL() + "/pull/" + strconv.Itoa(m.Pull.Number)
}

// RepositoryURL returns the web address of the repository.
func (m *Meta) RepositoryURL() string {
	return strings.TrimRight(m.GitHub, "/") + "/" + url.PathEscape(m.Repository.Owner) + "/" +
		url.PathEscape(m.Repository.Name)
}

// CheckRunURL returns the web address of the check run, "" if it is unknown.
func (m *Meta) CheckRunURL() string {
	if m.CheckRun == 0 {
		return ""
	}
	return m.RepositoryURL() + "/runs/" + strconv.FormatInt(m.CheckRun, 10)
}

var (
	idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
	// partPattern matches the name of a part of a page.
	partPattern = regexp.MustCompile(`^[a-z]{1,20}-[0-9]{1,5}$`)
)

// essential returns the fields of a report that every page needs. Of a report that is too large, the other fields are
// left out, first the largest ones, usually the rendered differences.
func essential() []string {
	return []string{"conclusion", "title", "all", "findings", "errors", "warnings", "notChecked", "causes", "exceptions",
		"approvers", "stats", "about", "until", "clusters", "upkeep", "outside", "active"}
}

// excerpts is the field with the source lines of the findings, which is left out last.
const excerpts = "excerpts"

// pack returns a report as JSON of at most limit bytes, and sets in m which fields were left out.
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
		return cmp.Or(cmp.Compare(len(fields[b]), len(fields[a])), cmp.Compare(a, b))
	})
	if last := slices.Index(drop, excerpts); last >= 0 {
		drop = append(slices.Delete(drop, last, last+1), excerpts)
	}
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

// readJSON decodes a stored record. Fields whose type differs in another version stay empty.
func readJSON(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if forge.Is[*json.UnmarshalTypeError](err) {
		return nil
	}
	return err
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // writing to memory does not fail
	_ = w.Close()
	return b.Bytes()
}

// decompress returns at most limit bytes, and drops the others.
func decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit))
}

// sumOf returns the SHA-256 of data, hexadecimal.
func sumOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
