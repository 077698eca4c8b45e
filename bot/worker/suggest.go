package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// suggest has the pull request carry what the findings suggest, where the settings ask for that. It returns what the
// summary says of it: a check does not fail for it.
func (c *check) suggest(ctx context.Context, rep *report.Report) string {
	if !rep.Suggest || c.pr == nil {
		return ""
	}
	var list []forge.Suggestion
	for _, s := range output.Suggestions(rep) {
		list = append(list, forge.Suggestion(s))
	}
	left, err := c.Client.Suggest(ctx, c.repo, c.pr.Number, c.head, list)
	var lacks *forge.NotGranted
	switch {
	case errors.As(err, &lacks):
		return fmt.Sprintf("\nSuggested changes (`suggestions: review` in `.lintel.yaml`) were not posted: the App "+
			"lacks the permission *%s*. The App's owner can add it on the App's page; then the owner of this account "+
			"has to accept it.\n", lacks.Permission)
	case err != nil:
		c.log.Warn("the suggestions were not posted", "error", scrub(err.Error()))
		return "\nGitHub did not accept the suggested changes; a later check tries again.\n"
	case left > 0:
		return fmt.Sprintf("\n%s not posted: the limit is %d.\n",
			report.Count(left, "more suggested change is", "more suggested changes are"), forge.MaxSuggestions)
	}
	return ""
}
