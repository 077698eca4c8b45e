package output

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

//go:embed assets
var assets embed.FS

// Page is the content of a page, in order. Texts are for people, without control characters.
//
// A page is complete without scripts, which only add search and keys, and it loads nothing from other hosts. Text of a
// repository is never markup (html/template escapes it for its context), and addresses are of http and https only.
// Inline pages contain their styles and scripts, which their policy (Content Security Policy Level 3,
// https://www.w3.org/TR/CSP3/) allows by digest; other pages load them from where Assets are served.
type Page struct {
	Frame                // about what was checked: a pull request, a branch, a commit
	State       string   // a conclusion of package report
	Verdict     string   // why, in one sentence
	Counts      string   // number of findings of each kind
	Notices     []string // what the page lacks
	Facts       []Fact   // commits, times, clusters, what is deployed
	NextActions []view.Runs
	Totals      []Total
	Errors      []Note
	Groups      []Group // findings by policy
	Changes     []Change
	Rest        []Link            // parts with further ones
	Rests       map[string][]Link // likewise for other lists, by the ids of their sections
	Images      []Row             // image, from, to, how many
	Clusters    []ClusterRow
	More        []string

	NotChecked []Note
	Warnings   []Note
	Exceptions []report.Exception // of the change, and objects that wait for approval like these
	Cleanup    []Note
	Bumps      []Bump
	Preview    *Preview
	Work       string
	Command    string // shows the same on a laptop

	of *pageOf // what its templates ask; nil without a report
}

// Link is a text with the address that it leads to: of http or https, or a path on the same host. A link with another
// address, or an empty one, leads nowhere.
type Link struct{ Text, Address string }

// Href returns the address if it is allowed in a page; otherwise "".
func (l Link) Href() string {
	u, err := url.Parse(l.Address)
	switch {
	case err != nil:
		return ""
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", // an absolute address
		u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/") && !strings.HasPrefix(u.Path, "//"):
		return u.String()
	}
	return ""
}

// Fact is a label with its items.
type Fact struct {
	Label   string
	Items   []Link
	Rest    []Link // parts with further ones
	Further int    // number of items in those parts
	Folded  bool   // if there are several items, their number is shown, and they can be unfolded
	Code    bool   // items are names from the repository or its history, and not words
}

// Many reports whether the items are folded.
func (f Fact) Many() bool { return f.Count() > 8 || f.Folded && f.Count() > 1 }

// Count returns the number of items.
func (f Fact) Count() int { return len(f.Items) + f.Further }

// Total is a row of the table of policies.
type Total struct {
	ID, Policy, Title, Severity, Action string
	States                              sums
}

// sums are numbers of findings by state.
type sums = [view.Excepted + 1]int

// sums counts the findings of all policies. The table of policies has columns for the states that there are.
func (p *Page) sums() (all sums) {
	for _, t := range p.Totals {
		for i, n := range t.States {
			all[i] += n
		}
	}
	return all
}

// Note is a sentence, and the place that it is about.
type Note struct {
	Where Link
	Text  string
	Code  []CodeLine
	Facts []Fact
}

// CodeLine is a line of a source file.
type CodeLine struct {
	Number                int
	Before, Marked, After string
	Here                  bool // the line is marked
}

// Group contains the findings of one policy.
type Group struct {
	ID, Policy, Title, Why, Category string
	Source                           Link
	Findings                         []Finding
	Rest                             []Link // parts with further ones
	Places                           int    // of all findings, including those in parts
	Quiet                            bool   // it contains no new findings
}

// Finding is an entry of the page.
type Finding struct {
	ID, State, Mark, Rule, Weight string
	Source                        Link // of the rule
	Where                         Link
	Code                          []CodeLine
	Message, Expected, Missing    string
	Advice, Field                 string
	Write                         []DiffLine
	WriteWords                    string
	Chain                         []Note
	Resources, Roots, Clusters    []string
	Further                       int // number of resources in parts
	ResourcesRest, RootsRest      []Link
	ClustersRest                  []Link
	Folded                        bool // at first, only its place, a resource and the message are shown
	Exemption                     Note // the exception that covers it, or would after approval
}

// Affected returns the number of affected resources.
func (f *Finding) Affected() int { return len(f.Resources) + f.Further }

// DiffLine is a line of a difference.
type DiffLine struct {
	Sign  string // " ", "-" or "+"; "@" begins a hunk
	Words []view.WordSpan
	Where Link // where it was written
}

// Change is the change of a resource.
type Change struct {
	ID, Resource, Operation string
	Roots, Clusters         []string
	RootsRest               []Link
	First                   bool // the change before it belongs to other roots
	Lines                   []DiffLine
	LeftOut                 string
	Added, Removed          int    // numbers of lines
	Note                    string // where the resource was before
	Open                    bool   // the change is unfolded at first
	Rest                    Link   // the part with the lines, if they are not on the page
}

// Row is a row of a table.
type Row []string

// ClusterRow describes changes in some clusters. All rows have the same columns.
type ClusterRow []Cell

// Cell is a cell of a table, with the name of its column.
type Cell struct{ Column, Text string }

// Bump is a root with new versions of external sources.
type Bump struct {
	report.Bump
	Changed []Change
	Rest    []Link // parts with further ones
}

// Preview is the effect of the change on the rules.
type Preview struct {
	Intro    string
	Items    []Note
	Warnings []Note
	Rows     []report.PreviewFinding
	LeftOut  string
}

// Asset is a file that pages need.
type Asset struct {
	Name string // contains a digest, so that the content of a name never changes
	Type string // its media type
	Data []byte
}

// Assets returns the files that pages refer to which are not Inline.
func Assets() []Asset {
	return []Asset{asset("page.css", "text/css; charset=utf-8"), asset("page.js", "text/javascript; charset=utf-8"),
		asset("icon.svg", "image/svg+xml")}
}

func asset(name, media string) Asset {
	data, _ := assets.ReadFile("assets/" + name) // the file is embedded in the program
	sum := sha256.Sum256(data)
	base, suffix, _ := strings.Cut(name, ".")
	return Asset{Name: base + "-" + hex.EncodeToString(sum[:8]) + "." + suffix, Type: media, Data: data}
}

// Write writes the page. It returns the error of w, or an error of a template.
func (p *Page) Write(w io.Writer) error {
	whole := *p
	whole.divide()
	return execute(w, "page.html", struct {
		*Page
		common
		All  *Page // before it was divided
		Sums sums
	}{&whole, p.Frame.common(p.Verdict), p, p.sums()}, p.of)
}

// Frame is the header of a page.
type Frame struct {
	Name    Link   // what the page is about
	Detail  string // its title and author
	Inline  bool   // the page is a single file
	Static  string // address of the assets if the page is not Inline; it ends in a slash
	Parts   string // address of the page's parts that are loaded on demand; it ends in a slash; empty: there are none
	Reader  string // who is signed in; empty: nobody
	SignOut string // address to which the form "Sign out" is posted
	SignIn  string // address of the link "Sign in"; either both are set, or none
}

// common is the data that all templates use.
type common struct {
	Title                                      string
	Style                                      template.CSS
	Script                                     template.JS
	Policy, StyleAsset, ScriptAsset, IconAsset string
}

func (f *Frame) common(title string) common {
	style, script := asset("page.css", ""), asset("page.js", "")
	return common{title, template.CSS(style.Data), template.JS(script.Data), inlinePolicy(style.Data, script.Data),
		f.Static + style.Name, f.Static + script.Name, f.Static + asset("icon.svg", "").Name}
}

func execute(w io.Writer, name string, data any, of *pageOf) error {
	of = cmp.Or(of, &pageOf{report: &report.Report{}})
	t, err := template.New(name).Funcs(template.FuncMap{"count": report.Count, "code": codeTable, "diff": diffTable,
		"place": placeOf, "names": codeNames, "sum": func(a, b int) int { return a + b },
		"words":        func(conclusion string) string { return strings.ReplaceAll(conclusion, "_", " ") },
		"imageColumns": func() []string { return []string{"From", "To", "Where"} },
		"at":           of.at, "exceptionFacts": of.exceptionFacts, "links": linksOf, "shown": shown,
		"versions": view.Versions, "counts": view.BumpCounts, "care": view.CareWords, "imageWords": view.ImageWords,
		"resources": func(list []report.Resource) []string { return each(view.ResourceNames(list)) },
		"title":     view.Title, "becomes": view.Becomes, "previewed": view.PreviewResources,
	}).ParseFS(assets, "assets/parts.html", "assets/"+name)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	return t.Execute(w, data)
}

// inlinePolicy returns the Content Security Policy of a single-file page: it loads nothing, and runs only this script.
func inlinePolicy(style, script []byte) string {
	digest := func(data []byte) string {
		sum := sha256.Sum256(data)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + digest(style) + "; script-src " + digest(script) +
		"; base-uri 'none'; form-action 'none'"
}

// Message is a page with one message, such as an error or the result of a sign-in.
type Message struct {
	Frame
	Heading, Text string
	Action        Link // the next step; it may be a link without an address
}

// Write writes the page, which has no scripts. It returns the error of w, or an error of a template.
func (m *Message) Write(w io.Writer) error {
	return execute(w, "message.html", struct {
		*Message
		common
	}{m, m.Frame.common(m.Heading)}, nil)
}

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
