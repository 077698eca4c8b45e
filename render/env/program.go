package env

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// programVersion identifies the running program: by the release or commit that it was built from, if there were no
// changes, else by its content.
func programVersion() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := released(info); v != "" {
			return v, nil
		}
	}
	file, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	if id := buildID(file); id != "" {
		return "build " + id, nil
	}
	return digest(file)
}

// released identifies a build of a released module or of an unchanged commit, empty for other builds.
func released(info *debug.BuildInfo) string {
	if info.Main.Sum != "" {
		return fmt.Sprintf("release %s %s %s", info.Main.Version, info.Main.Sum, info.GoVersion)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" && settings["vcs.modified"] == "false" {
		return fmt.Sprintf("commit %s %s %s/%s", revision, info.GoVersion, settings["GOOS"], settings["GOARCH"])
	}
	return ""
}

// buildID returns the linker's build id, which is a digest of the program, empty where it has none. Reading it is
// cheaper than a digest of a hundred megabytes at each start.
func buildID(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	section := f.Section(".note.go.buildid")
	if section == nil || section.Size > 4096 {
		return ""
	}
	note, err := section.Data()
	if err != nil || len(note) < 64 { // the id was removed
		return ""
	}
	return hex.EncodeToString(note)
}

func digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the running program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the running program: %w", err)
	}
	return "digest " + hex.EncodeToString(h.Sum(nil)), nil
}
