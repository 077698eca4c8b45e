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
		return c.giveUp(ctx, verdictUnable(unfit))
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
		return c.giveUp(ctx, verdictVanished(vanished.SHA))
	case errors.As(err, &strangers):
		return c.conclude(ctx, verdictUnfit(strangers.Error()))
	case errors.As(err, &large):
		return c.conclude(ctx, verdictUnfit(large.Error()))
	case errors.As(err, &crash):
		c.log.Error("the sandbox crashed", "reason", crash.Reason)
		return c.conclude(ctx, verdictCrash(crash))
	case errors.As(err, &failed):
		c.log.Error("the check failed", "reason", scrub(failed.Message))
		return c.conclude(ctx, verdictFailed(failed))
	case !c.task.last():
		return err
	}
	c.log.Error("giving up", "stage", stage, "error", scrub(err.Error()))
	return c.giveUp(ctx, verdictGivenUp(stage, c.task.Try, err))
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

func verdictCrash(crash *sandbox.Crash) verdict {
	reason := scrub(crash.Reason)
	return verdict{
		title: "The check " + reason,
		summary: "This commit has no result: the check " + reason + ".\n\n" +
			"If this happens again, a manifest or kustomization of this pull request exceeds the server's limits of " +
			"time or memory. Common causes are nested YAML aliases and bases that include each other." + askAgain,
	}
}

func verdictFailed(failed *sandbox.Failed) verdict {
	reason := strings.TrimSuffix(scrub(failed.Message), ".")
	title := "The check could not be run"
	if failed.Panicked {
		title = "The check failed because of a defect of Lintel"
	}
	return verdict{title: title, summary: "This commit has no result: " + reason + "." + askAgain}
}

func verdictVanished(sha string) verdict {
	return verdict{
		title: "A commit of this pull request is no longer on GitHub",
		summary: "This pull request names commit " + sha + ", but GitHub no longer provides it. This happens after a " +
			"forced push, or when a fork is deleted. Push again to start a new check.",
	}
}

// verdictUnfit is the verdict for repositories and histories that a retry does not fix.
func verdictUnfit(reason string) verdict {
	reason = scrub(reason)
	return verdict{title: "Not checked: " + reason, summary: "This commit has no result: " + reason + "." +
		askAgain}
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

func verdictGivenUp(stage string, tries int, err error) verdict {
	what := map[string]string{
		stageFetch:   "the commits could not be fetched from GitHub",
		stageInspect: "the check did not start",
		stageReview:  "the reviews could not be read from GitHub",
		stageCheck:   "the check did not start",
		stageReport:  "the check run could not be updated",
		stageRemotes: "the remote sources could not be fetched",
	}[stage]
	return verdict{
		title: "Not checked: " + what,
		summary: fmt.Sprintf("This commit has no result: %s, in %d attempts.%s The server's log has the details.",
			what, tries, detail(err)) + askAgain,
	}
}

// verdictUnable is the verdict where every server that took the job had trouble of its own.
func verdictUnable(unfit error) verdict {
	return verdict{
		title: "Not checked: Lintel's server has a problem of its own",
		summary: "This commit has no result, which is not its fault: the server that runs Lintel cannot work (" +
			scrub(unfit.Error()) + "). Its operator has to mend that." + askAgain,
	}
}

func verdictExhausted(tries int) verdict {
	return verdict{
		title: "Not checked: the check did not finish",
		summary: fmt.Sprintf("This commit has no result: the check was started %d times and never finished. The "+
			"server's log has the details.", tries) + askAgain,
	}
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
