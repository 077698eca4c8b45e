package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// versionsAsked is a question about the API versions of a root's clusters.
type versionsAsked struct {
	Root  roots.Root    `json:"root"`
	Asked askedVersions `json:"asked"`
}

// Answer implements env.Answerer for all that renderings ask.
func (r *Renderer) Answer(q env.Question) string {
	switch q.Kind {
	case env.Source:
		var want remote.Want
		if json.Unmarshal([]byte(q.Name), &want) != nil {
			return ""
		}
		digest := r.outside.sources.Digest(want)
		if digest == "" {
			_, _ = r.outside.sources.Get(want) // it is wanted again
		}
		return digest
	case env.Object:
		var l helm.Lookup
		if json.Unmarshal([]byte(q.Name), &l) != nil {
			return ""
		}
		return r.answers(l)[0].Digest
	case env.Versions:
		var v versionsAsked
		if json.Unmarshal([]byte(q.Name), &v) != nil {
			return ""
		}
		return r.capabilities(v.Root, v.Asked)
	case env.Deployed:
		var root roots.Root
		if json.Unmarshal([]byte(q.Name), &root) != nil {
			return ""
		}
		return r.set.Digest(root) + r.writtenIn(root)
	}
	return env.Of(r.tree, q)
}

// asked returns the questions that a rendering rests on; false where what it lacks may come without another answer to any.
func (r *Renderer) asked(out *Rendering) (env.Asked, bool) {
	if out == nil || out.Root.Kind == roots.Folder || out.links == nil || len(r.overlay) > 0 {
		return nil, false
	}
	asked := env.Asked{}
	for p, id := range out.Reads {
		dir, isDir := strings.CutSuffix(p, "/")
		if isDir {
			id = "/" + id
		}
		asked[env.Question{Kind: env.Content, Name: dir}] = id
	}
	for p, real := range out.links {
		asked[env.Question{Kind: env.Link, Name: p}] = real
	}
	note := func(kind env.Kind, name any, answer string) {
		data, err := json.Marshal(name)
		if err != nil {
			return // names are texts and numbers
		}
		asked[env.Question{Kind: kind, Name: string(data)}] = answer
	}
	for want, one := range out.wants {
		note(env.Source, want, one.digest)
	}
	for _, t := range out.told {
		note(env.Object, t.Lookup, t.Digest)
	}
	if out.rendered != "" {
		note(env.Versions, versionsAsked{out.Root, out.asked}, out.rendered)
	}
	note(env.Deployed, out.Root, out.digest+r.writtenIn(out.Root))
	return asked, true
}

// memoryKey is what an answer about a root is kept under in a table of the memory: it tells renderers apart that render
// otherwise.
func (r *Renderer) memoryKey(root roots.Root, about string) string {
	return fmt.Sprint(r.limits, r.tree.BlobLimit(), r.outside.sources != nil, r.set.Unrestricted(), r.steps, r.set.Options(), root, about)
}

// answersKept returns the answers of this process and of earlier ones.
func (r *Renderer) answersKept() *env.Memory {
	if r.memory == nil || len(r.overlay) > 0 {
		return nil
	}
	return r.memory.Memory()
}
