package output

import "io"

// Message is a page that says one thing: why there is no other, or what became of a sign-in.
type Message struct {
	Frame
	Heading, Text string
	Action        Link // what to do next; it may lead nowhere
}

// Write writes the page. It has no scripts. The error is that of w, or says that the page was made wrong.
func (m *Message) Write(w io.Writer) error {
	return execute(w, "message.html", struct {
		*Message
		common
	}{m, m.Frame.common(m.Heading)})
}
