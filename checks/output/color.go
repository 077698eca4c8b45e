package output

// painter colors text, or not.
type painter struct {
	color bool
	tone  string // of marks: an SGR parameter
}

func (p painter) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) dim(s string) string  { return p.paint("2", s) }
func (p painter) bold(s string) string { return p.paint("1", s) }
func (p painter) mark(s string) string { return p.paint("1;"+p.tone, s) }
func (p painter) with(tone string) painter {
	p.tone = tone
	return p
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)
