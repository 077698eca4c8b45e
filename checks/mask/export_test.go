package mask

import "github.com/lintel-bot/lintel/checks/report"

// Hide returns a text without the values. In a text about a Secret, it also hides ordinary words that are values of
// that Secret.
func (v *Values) Hide(text string, of ...report.Resource) string {
	return replace(text, v.find(text, of, nil))
}
