package main

import (
	"context"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/bot/results"
)

// publicLife is how long a repository counts as public after GitHub said so.
const publicLife = 5 * time.Minute

// pages is what the server keeps and shows of its results; all is nil without a public address.
type pages struct {
	store   *results.Store
	keeper  *results.Keeper
	handler *results.Handler
}

// newPages puts them together. Who the readers are is not known, so they see public repositories.
func (o *serveOptions) newPages(jobs *queue.Queue, client *github.Client, log *slog.Logger) (*pages, error) {
	if o.publicURL == "" {
		return &pages{}, nil
	}
	public, err := url.Parse(o.publicURL)
	if err != nil {
		return nil, err // it was validated
	}
	limits := o.pageLimits()
	p := &pages{store: results.NewStore(jobs.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		jobs.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, nil)}
	p.keeper = results.NewKeeper(p.store, o.publicURL, false, nil)
	guard := results.NewPublicOnly(publicLife, func(ctx context.Context, r results.Repository) (bool, error) {
		settings, err := client.Repository(ctx, github.Repo{Installation: r.Installation, ID: r.ID, Owner: r.Owner,
			Name: r.Name})
		if err != nil {
			return false, err
		}
		return settings.Private || settings.ID != r.ID, nil // another one may have the name by now
	}, nil)
	p.handler, err = results.New(results.Config{Store: p.store, Renderer: plainPages{}, Guard: guard,
		Base: public.EscapedPath(), Log: log})
	return p, err
}

// gone removes the results of what the App was taken from.
func (p *pages) gone() func(ctx context.Context, installation, repository int64) error {
	if p.store == nil {
		return nil
	}
	return p.store.Drop
}

// reached removes the results of all that the App does not reach any more.
func (p *pages) reached() func(context.Context, func(installation, repository int64) bool) error {
	if p.store == nil {
		return nil
	}
	return p.store.Retain
}

func (o *serveOptions) pageLimits() results.Limits {
	return results.Limits{Age: o.pageAge, Bytes: int64(o.pageBytes), Result: int(o.pageResult)}
}

// plainPages is a results.Renderer without a look.
type plainPages struct{}

// plainPage is what its template takes.
type plainPage struct {
	Title, Text string
	Result      *results.Stored
	Overview    *results.Overview
	Many        []*results.Overview
	View        results.View
}

func (plainPages) write(w io.Writer, p plainPage) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"entry": func(e results.Entry, r results.Repository) string { return e.Path(r) },
		"at":    results.RepositoryPath,
	}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title></head>
<body><main><h1>{{.Title}}</h1>{{with .Text}}<p>{{.}}</p>{{end}}
{{with .Result}}<p><a href="{{.RepositoryURL}}">{{.Repository}}</a> at <code>{{.Head}}</code>: {{.Conclusion}}</p>
{{with .Command}}<pre>{{.}}</pre>{{end}}
{{with .Report}}<ul>{{range .Findings}}<li>{{.Policy}}: {{.Message}}{{with .Origin}} (<code>{{.Path}}:{{.StartLine}}</code>){{end}}</li>{{end}}</ul>
{{else}}<p>The report is not kept any more: check again.</p>{{end}}{{end}}
{{with .Overview}}{{$r := .Repository}}<ul>{{range .Branch}}<li><a href="{{$.View.Base}}{{entry . $r}}">{{.Name}}</a>: {{.Title}}</li>{{end}}
{{range .Pulls}}<li><a href="{{$.View.Base}}{{entry . $r}}">#{{.Pull}} {{.Name}}</a>: {{.Title}}</li>{{end}}</ul>{{end}}
<ul>{{range .Many}}<li><a href="{{$.View.Base}}{{at .Repository}}">{{.Repository}}</a></li>{{end}}</ul>
</main></body></html>
`)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// Result implements results.Renderer.
func (p plainPages) Result(w io.Writer, r *results.Stored, v results.View) error {
	return p.write(w, plainPage{Title: r.Title, Result: r, View: v})
}

// Part implements results.Renderer.
func (plainPages) Part(io.Writer, *results.Stored, string, results.View) error {
	return results.ErrNone
}

// Repository implements results.Renderer.
func (p plainPages) Repository(w io.Writer, o *results.Overview, v results.View) error {
	return p.write(w, plainPage{Title: o.Repository.String(), Overview: o, View: v})
}

// Organisation implements results.Renderer.
func (p plainPages) Organisation(w io.Writer, owner string, repositories []*results.Overview, v results.View) error {
	return p.write(w, plainPage{Title: owner, Many: repositories, View: v})
}

// Message implements results.Renderer.
func (p plainPages) Message(w io.Writer, m results.Message, v results.View) error {
	return p.write(w, plainPage{Title: m.Title, Text: m.Text, View: v})
}

// Assets implements results.Renderer.
func (plainPages) Assets() fs.FS { return nil }
