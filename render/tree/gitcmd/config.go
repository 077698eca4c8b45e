package gitcmd

import (
	"os"
	"strconv"
)

// Closed is the configuration of a git that works on what strangers wrote, as Configured takes it: nothing of this machine's
// or of a repository's own may run or be followed, and no protocol is allowed.
func Closed() []string {
	return []string{
		"core.hooksPath", os.DevNull, "core.fsmonitor", "false", "core.askPass", "", "credential.helper", "",
		"protocol.allow", "never", "submodule.recurse", "false", "fetch.recurseSubmodules", "false", "gc.auto", "0",
		"maintenance.auto", "false", "safe.directory", "*",
	}
}

// Careful is the configuration of a git that fetches what strangers wrote, in addition. Defects that old but honest histories
// have are allowed; everything else that git-fsck(1) finds (a file called .git, a path that leads out) refuses the fetch.
func Careful() []string {
	pairs := []string{
		"http.lowSpeedLimit", "1000", "http.lowSpeedTime", "60", "transfer.fsckObjects", "true", "fetch.fsckObjects", "true",
		"fetch.unpackLimit", "1", "fetch.writeCommitGraph", "false", "fetch.showForcedUpdates", "false",
	}
	for _, check := range []string{"zeroPaddedFilemode", "badTimezone", "badDate", "badDateOverflow", "badEmail", "badName",
		"missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "multipleAuthors",
		"zeroPaddedDate", "badFilemode"} {
		pairs = append(pairs, "fetch.fsck."+check, "ignore")
	}
	return pairs
}

// Configured is the environment that configures git by pairs of a name and a value. Unlike arguments it cannot be seen by
// others.
func Configured(pairs ...string) []string {
	var env []string
	for i := 0; i+1 < len(pairs); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pairs[i], "GIT_CONFIG_VALUE_"+n+"="+pairs[i+1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(pairs)/2))
}
