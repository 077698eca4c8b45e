package render

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/trial"
)

// ReadsFiles reports whether a template of the chart, or of one that it depends on, reads files of the chart (.Files).
func (c *Charted) ReadsFiles() bool {
	return c.release.chart.AnyTemplate(func(text []byte) bool { return bytes.Contains(text, []byte(".Files")) })
}

// Unshown lists those files in instead that do not affect what the templates print. instead has other contents of files
// of this repository by path; nil is a file that does not exist. The list is empty where the chart does not render.
func (c *Charted) Unshown(ctx context.Context, instead map[string][]byte) []string {
	whole, err := c.manifests(ctx, nil)
	if err != nil {
		return nil
	}
	tries := maxShown
	var among func(files []string) []string
	among = func(files []string) []string {
		some := map[string][]byte{}
		for _, p := range files {
			some[p] = instead[p]
		}
		tries--
		other, err := c.manifests(ctx, some)
		switch {
		case err == nil && slices.Equal(whole, other):
			return files
		case len(files) == 1 || tries <= 0:
			return nil
		}
		half := len(files) / 2
		return append(among(files[:half:half]), among(files[half:])...)
	}
	if len(instead) == 0 {
		return nil
	}
	return among(slices.Sorted(maps.Keys(instead)))
}

// maxShown is how often a chart is rendered to find the files that affect it. Files that are not decided by then count
// as affecting it.
const maxShown = 64

// manifests returns what the templates print with other contents of some files.
func (c *Charted) manifests(ctx context.Context, instead map[string][]byte) ([]helm.Manifest, error) {
	s := c.release
	tried := s.trial
	if instead != nil && s.from.here {
		from, reader := s.from, &chartReader{builder: &s.renderer.builder, out: &Rendering{Reads: map[string]string{},
			links: map[string]string{}, wants: wants{}}}
		from.instead = maps.Clone(instead)
		maps.Copy(from.instead, s.from.instead)
		chart, err := reader.chart(from, s.instead)
		if err != nil {
			return nil, err
		}
		tried = trial.New(chart, s.options, s.renderer.limits.Source, s.renderer.steps)
	}
	out, err := tried.Render(ctx)
	if err != nil {
		return nil, err
	}
	return out.Manifests, nil
}
