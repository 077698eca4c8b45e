package access

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTarget is far above the path of any page; the target travels in a cookie.
const maxTarget = 1024

// target is where a reader goes after signing in: a path of this server with its query, or homePath for anything that is
// not one, or that one program could read as another path than the next. It is put behind the public address, so it
// cannot lead elsewhere, and is looked at all the same.
func target(raw string) string {
	if len(raw) > maxTarget || !strings.HasPrefix(raw, "/") || !utf8.ValidString(raw) ||
		strings.ContainsFunc(raw, odd) {
		return homePath
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(u.Path, "/") { // "//" has none
		return homePath
	}
	escaped := strings.ToLower(u.EscapedPath())
	for _, trick := range []string{"%2f", "%5c", "%25", "%00", "%2e"} { // slashes, escapes and dots that hide
		if strings.Contains(escaped, trick) {
			return homePath
		}
	}
	if strings.ContainsFunc(u.Path, unicode.IsControl) {
		return homePath
	}
	segments := strings.Split(u.Path, "/")[1:]
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && i < len(segments)-1 {
			return homePath
		}
	}
	if segments[0] == "auth" || u.Path == "/" { // it would begin anew; nothing is there
		return homePath
	}
	if u.RawQuery != "" {
		return u.EscapedPath() + "?" + u.RawQuery
	}
	return u.EscapedPath()
}

// odd reports whether a character has no place in an address, or one that programs do not agree about.
func odd(c rune) bool { return c == '\\' || c == '#' || unicode.IsControl(c) || unicode.IsSpace(c) }

// back is target, without the path of the public address, which a proxy may have left in a request.
func (a *Access) back(raw string) string {
	t := target(raw)
	if rest, below := strings.CutPrefix(t, a.base+"/"); below && a.base != "" {
		return target("/" + rest)
	}
	return t
}

// SignInPath is the path, below the public address, at which a reader signs in and comes back to a path.
func SignInPath(back string) string { return loginPath + "?" + url.Values{"return": {back}}.Encode() }

// again is the address of a sign-in that leads back to a path.
func (a *Access) again(back string) string { return a.config.PublicURL + SignInPath(back) }
