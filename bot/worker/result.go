package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// post publishes the report, unless the head moved on or exactly this result stands already.
func (c *check) post(ctx context.Context, change report.Change, rep *report.Report, id forge.RunID) error {
	c.endProgress()
	superseded, err := c.task.Ledger.Superseded(ctx)
	if err != nil {
		return err
	}
	if superseded {
		// A newer job for the same head finds this result and leaves it; only another head makes it void.
		moved, err := c.moved(ctx)
		if err != nil {
			return err
		}
		if moved {
			return c.abandon(ctx)
		}
	}
	c.recordDependency(ctx, rep)
	shown := c.withhold(ctx, rep)
	kept := c.record(ctx, change, rep, id)
	if kept != nil {
		c.page = c.run.DetailsURL
	}
	rep = shown
	c.run.Conclusion = string(rep.Conclusion)
	c.run.Title = rep.Title
	c.run.Summary = c.Summary(rep, c.blobURL(c.head), c.blobURL(c.rules), c.page)
	if c.Text != nil {
		c.run.Text = c.Text(rep, c.blobURL(c.head), c.blobURL(c.rules), c.newFileURL, c.page)
	}
	if slices.ContainsFunc(rep.Findings, func(f report.Finding) bool { return f.Blocks && !f.Waits() }) {
		c.run.Actions = []forge.Action{{Label: "Draft exceptions", Description: "Write exceptions for what blocks",
			Identifier: github.DraftAction}}
	}

	list, left := output.Annotations(rep)
	for _, a := range list {
		c.run.Annotations = append(c.run.Annotations, annotation(a))
	}
	c.run.Summary += output.Unannotated(len(c.run.Annotations), left, c.page)
	return c.send(ctx, result{id: id, run: c.run, kept: kept})
}

// result is the id of a result: equal for equal inputs and equal states of the exceptions, which
// depend on the clock, too.
func (c *check) result(state mirror.State, change report.Change, rep *report.Report) forge.RunID {
	type exception struct {
		Path, Blob string
		State      report.State
	}
	inputs := struct {
		Version, Head, Rules, Base, Author string
		Teams, Branches                    []string
		Reviews                            []report.Review
		Drafts                             bool
		Conclusion                         report.Conclusion
		Exceptions                         []exception
		Outside                            string `json:",omitempty"` // what was fetched: a tag may have moved
		Until                              int64  // of the exceptions in effect: one that ended changes findings
	}{Version: c.Version, Head: change.Head, Rules: state.BaseTip, Base: state.MergeBase, Author: change.User.Login,
		Teams: change.User.Teams, Branches: change.Branches, Reviews: slices.Clone(change.Reviews),
		Drafts: change.Drafts, Conclusion: rep.Conclusion, Outside: c.remotes.ID(),
		Until: rep.Until.Unix()}
	slices.SortFunc(inputs.Reviews, func(a, b report.Review) int { return strings.Compare(a.Path+a.Blob, b.Path+b.Blob) })
	for _, e := range rep.Exceptions {
		inputs.Exceptions = append(inputs.Exceptions, exception{e.Path, e.Blob, e.State})
	}
	data, err := json.Marshal(inputs)
	if err != nil {
		// Strings and lists of them always marshal; if not, a result that equals no other is safe.
		data = []byte(strconv.FormatUint(c.task.Sequence, 10))
	}
	sum := sha256.Sum256(data)
	id := forge.RunID{Digest: hex.EncodeToString(sum[:])}
	if !rep.Until.IsZero() {
		id.Until = rep.Until.Unix() + 1 // what ends within a second has ended after it
	}
	if at := c.again(); !at.IsZero() && (id.Until == 0 || at.Unix() < id.Until) {
		id.Until = at.Unix()
	}
	return id
}

// annotation is a note on lines of a file as GitHub takes it.
func annotation(a output.Annotation) forge.Annotation {
	return forge.Annotation{Path: a.Path, StartLine: a.StartLine, EndLine: a.EndLine, StartColumn: a.StartColumn,
		EndColumn: a.EndColumn, Level: string(a.Level), Title: a.Title, Message: a.Message}
}
