package webhook

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/bot/queue"
)

// Subject is the first part of a check run's external id: what the run is about. The rest of the id, behind a
// slash, depends on the result; between them may be a mark of who asked for it, behind a plus sign.
func Subject(key queue.Key) string {
	switch {
	case key.Branch != "":
		return "branch-" + hex.EncodeToString([]byte(key.Branch)) // its name may hold both signs
	case key.Group != "":
		return "group-" + key.Group
	}
	return "pr-" + strconv.Itoa(key.Number)
}

// SubjectKey is the reverse of Subject for an external id, within the installation and repository of base.
// It is false for an id that names no subject.
func SubjectKey(base queue.Key, externalID string) (queue.Key, bool) {
	subject, _, ok := strings.Cut(externalID, "/")
	if !ok {
		return queue.Key{}, false
	}
	subject, _, _ = strings.Cut(subject, "+")
	kind, name, _ := strings.Cut(subject, "-")
	key := queue.Key{Installation: base.Installation, Repository: base.Repository}
	switch kind {
	case "pr":
		number, err := strconv.Atoi(name)
		if err != nil {
			return queue.Key{}, false
		}
		key.Number = number
	case "branch":
		data, err := hex.DecodeString(name)
		if err != nil {
			return queue.Key{}, false
		}
		key.Branch = string(data)
	case "group":
		key.Group = name
	}
	return key, key.Validate() == nil && Subject(key) == subject
}
