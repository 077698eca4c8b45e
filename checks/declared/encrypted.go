package declared

import (
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
)

// EncryptedValues returns the values of an object that SOPS encrypted, which are not known. There are none in a Secret: rules ask
// for its type and its keys.
func EncryptedValues(object map[string]any) (list []render.Issue) {
	if !schema.Encrypted(object) || object["kind"] == "Secret" {
		return nil
	}
	jsonpointer.Walk(object, "", func(pointer string, value any) {
		if text, ok := value.(string); ok && doc.IsEncrypted(text) && !strings.HasPrefix(pointer, "/sops/") {
			list = append(list, render.Issue{Pointer: pointer, Value: true, Message: "SOPS encrypted the value, so only the cluster can read it"})
		}
	})
	return list
}
