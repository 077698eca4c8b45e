package render

import (
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/render/doc"
)

// embeds reports whether an object that is not a list has items that are objects. kubectl takes any object with items
// for a list, and would create the items.
func embeds(object map[string]any) bool {
	items, _ := object["items"].([]any)
	return slices.ContainsFunc(items, func(item any) bool {
		m, ok := item.(map[string]any)
		return ok && m["kind"] != nil && m["apiVersion"] != nil
	})
}

const embedded = "has items that are objects, which kubectl creates in place of the list: use kind: List, or write " +
	"them as separate documents"

// tooMany returns the problem of a root with more resources than the limit.
func tooMany(path string, limit int) doc.Error {
	return doc.Error{Path: path,
		Message: fmt.Sprintf("exceeds the limit of %d resources of its root: split the root, or raise limits.resources in "+
			".lintel.yaml on the base branch", limit)}
}
