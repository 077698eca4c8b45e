package mask

import "github.com/lintel-bot/lintel/checks/report"

// Hide returns a text without the values. Where it speaks of Secrets, even what would be an ordinary word elsewhere is
// hidden if it is a value of one of them.
func (v *Values) Hide(text string, of ...report.Resource) string {
	return replace(text, v.find(text, of, nil))
}
