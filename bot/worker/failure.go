package worker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
)

// fail handles an error in a stage: it returns the job, waits, stops, retries, or reports the error.
func (c *check) fail(ctx context.Context, stage string, err error) error {
	c.endProgress()
	var (
		vanished  *mirror.Vanished
		strangers *mirror.NoMergeBase
		large     *mirror.TooLarge
		crash     *sandbox.Crash
		failed    *sandbox.Failed
	)
	if ctx.Err() != nil || forge.Is[*forge.RetryLater](err) {
		return err
	}
	if unfit := c.unfit(err); unfit != nil { // whatever the error says, it is no answer about the change
		if later := c.elsewhere(c.task, unfit); later != nil || !c.task.last() {
			return errors.Join(later, err)
		}
		c.log.Error("giving up", "stage", stage, "reason", unfit.Error(), "error", scrub(err.Error()))
		return c.giveUp(ctx, verdict{"Not checked: Lintel's server has a problem of its own",
			"This commit has no result, which is not its fault: the server that runs Lintel cannot work (" +
				scrub(unfit.Error()) + "). Its operator has to mend that." + askAgain})
	}
	switch {
	case errors.As(err, &vanished):
		moved, lookup := c.moved(ctx)
		if lookup != nil {
			return lookup
		}
		if moved {
			return c.abandon(ctx)
		}
		if !c.task.last() {
			return err
		}
		return c.giveUp(ctx, verdict{"A commit of this pull request is no longer on GitHub",
			"This pull request names commit " + vanished.SHA + ", but GitHub no longer provides it. This happens after a " +
				"forced push, or when a fork is deleted. Push again to start a new check."})
	case errors.As(err, &strangers):
		return c.conclude(ctx, notChecked(strangers))
	case errors.As(err, &large):
		return c.conclude(ctx, notChecked(large))
	case errors.As(err, &crash):
		c.log.Error("the sandbox crashed", "reason", crash.Reason)
		reason := scrub(crash.Reason)
		return c.conclude(ctx, noResult("The check "+reason, "the check "+reason+".\n\n"+
			"If this happens again, a manifest or kustomization of this pull request exceeds the server's limits of "+
			"time or memory. Common causes are nested YAML aliases and bases that include each other."))
	case errors.As(err, &failed):
		reason, title := scrub(failed.Message), "The check could not be run"
		c.log.Error("the check failed", "reason", reason)
		if failed.Panicked {
			title = "The check failed because of a defect of Lintel"
		}
		return c.conclude(ctx, noResult(title, strings.TrimSuffix(reason, ".")+"."))
	case !c.task.last():
		return err
	}
	c.log.Error("giving up", "stage", stage, "error", scrub(err.Error()))
	what := map[string]string{
		stageFetch:   "the commits could not be fetched from GitHub",
		stageInspect: "the check did not start",
		stageReview:  "the reviews could not be read from GitHub",
		stageCheck:   "the check did not start",
		stageReport:  "the check run could not be updated",
		stageRemotes: "the remote sources could not be fetched",
	}[stage]
	return c.giveUp(ctx, noResult("Not checked: "+what, fmt.Sprintf("%s, in %d attempts.%s The server's log has the "+
		"details.", what, c.task.Try, detail(err))))
}

// The stages of a check, as metrics and reasons name them.
const (
	stageFetch   = "fetch"
	stageInspect = "inspect"
	stageReview  = "review"
	stageCheck   = "check"
	stageReport  = "report"
	stageRemotes = "sources"
)

// verdict says why a check has no report. It contains no host paths or tokens.
type verdict struct{ title, summary string }

const askAgain = "\n\nUse **Check again** below, or push another commit, to start over."

// noResult is the verdict of a check that ended for a reason, which is a sentence without its first capital.
func noResult(title, reason string) verdict {
	return verdict{title, "This commit has no result: " + reason + askAgain}
}

// notChecked is the verdict for a repository or a history that another try does not change.
func notChecked(err error) verdict {
	reason := scrub(err.Error())
	return noResult("Not checked: "+reason, reason+".")
}

// detail returns the message of a typed error as a sentence; empty for other errors.
func detail(err error) string {
	if denied, ok := errors.AsType[*mirror.Denied](err); ok {
		return " The last answer: " + scrub(denied.Error()) + "."
	}
	if git, ok := errors.AsType[*mirror.Failed](err); ok && git.Reason != "" {
		return " The last answer: " + scrub(git.Reason) + "."
	}
	return ""
}

// secrets are the forms in which credentials of GitHub or of URLs could get into the text of an error.
var secrets = regexp.MustCompile(
	`gh[a-z]_[0-9A-Za-z_.-]+|github_pat_[0-9A-Za-z_]+|eyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_.-]+|` +
		`(?i:bearer|basic|token)\s+[0-9A-Za-z+/=_.-]{16,}|://[^@/\s]+@`)

// hostPaths are absolute paths of at least two parts that do not belong to a URL.
var hostPaths = regexp.MustCompile(`(^|[\s"'(=])/[^\s"'():,]+/[^\s"'():,]*`)

// scrub removes credentials and host paths from a text of unknown origin.
func scrub(text string) string {
	text = secrets.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "://") {
			return "://"
		}
		return "[credential]"
	})
	return hostPaths.ReplaceAllString(text, "$1[path]")
}
