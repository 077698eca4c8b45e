package mask

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortText = 4       // characters: shorter values are hidden where they stand in sources and objects only
	longText  = 8       // characters from which on a value is no word, and a part of one tells something
	maxParts  = 4_000   // of one value
	maxFormed = 1 << 16 // bytes of a value of which all forms are known
)

// forms are the ways in which a text is quoted: as it is, in the letters of other cases, encoded, and with escapes.
func forms(text string) []string {
	if text == "" {
		return nil
	}
	if len(text) > maxFormed { // nothing quotes it whole
		return []string{text[:maxFormed]}
	}
	list := []string{text}
	// echo and editors leave a line break at the end that is encoded, too.
	for _, s := range []string{text, text + "\n"} {
		data := []byte(s)
		list = append(list, base64.StdEncoding.EncodeToString(data), base64.RawStdEncoding.EncodeToString(data),
			base64.URLEncoding.EncodeToString(data), base64.RawURLEncoding.EncodeToString(data))
	}
	if quoted, err := json.Marshal(text); err == nil {
		list = append(list, strings.Trim(string(quoted), `"`))
	}
	list = append(list, strings.Trim(strconv.Quote(text), `"`), strings.ReplaceAll(text, "'", "''"),
		strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) >= longText {
		list = append(list, strings.ToLower(text), strings.ToUpper(text))
	}
	return list
}

// decoded is what a text of base64 stands for, if that is a text. Of padding and line breaks nothing is expected.
func decoded(text string) (string, bool) {
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 || !utf8.Valid(data) {
		return "", false
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return "", false
		}
	}
	return string(data), true
}

// common reports whether a value is so usual that hiding it hides nothing, even where its Secret is spoken of.
func common(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "nil", "none", "yes", "off", "opaque":
		return true
	}
	return utf8.RuneCountInString(text) < indexed
}

// usual are words that texts about anything have.
var usual = map[string]bool{"admin": true, "root": true, "user": true, "username": true, "password": true, "name": true,
	"localhost": true, "default": true, "postgres": true, "mysql": true, "redis": true, "http": true, "https": true,
	"production": true, "staging": true, "development": true, "test": true, "info": true, "debug": true, "warn": true,
	"error": true, "latest": true, "enabled": true, "disabled": true, "value": true, "data": true, "must": true,
	"secret": true, "kubernetes": true, "cluster": true, "basic": true, "token": true, "json": true, "required": true,
	"main": true, "base": true, "label": true, "policy": true, "rule": true, "validation": true, "field": true}

// ordinary reports whether a value may stand anywhere for other reasons than that a Secret has it: short ones, words
// that texts about anything have, ports and other small numbers.
func ordinary(text string) bool {
	const digits = 6
	n := utf8.RuneCountInString(text)
	return n < shortText || common(text) || usual[strings.ToLower(text)] ||
		n < digits && strings.Trim(text, "0123456789.-:") == ""
}

// wordLike reports whether a value reads as a word or a number, and may be a part of others.
func wordLike(text string) bool {
	digits, letters := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		default:
			return false
		}
	}
	return digits == 0 || letters == 0
}

// credential finds values in texts that hold several: addresses with a password, settings, JSON.
var credential = regexp.MustCompile(`(?i)://[^/\s:@]*:([^/\s@]+)@|` +
	`(?:pass|passwd|password|passphrase|pwd|secret|token|key|auth|credentials?)["']?\s*[:=]\s*["']?([^\s"',;&}]+)`)

// partsOf are the parts of a value that are as secret as it is: passwords in it, and what looks like made by chance.
// Ordinary words and names of hosts are none.
func partsOf(text string) (list []string) {
	add := func(s string) {
		if len(list) < maxParts {
			list = append(list, s)
		}
	}
	for _, m := range credential.FindAllStringSubmatch(text, maxParts) {
		if s := m[1] + m[2]; !ordinary(s) {
			add(s)
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) < len(text) && random(line) {
			add(line)
		}
		for _, word := range strings.FieldsFunc(line, separates) {
			if len(word) == len(text) || !random(word) {
				continue
			}
			add(word)
			if inner, ok := decoded(word); ok {
				add(inner)
				if _, password, ok := strings.Cut(inner, ":"); ok && !ordinary(password) {
					add(password)
				}
			}
		}
	}
	return list
}

// separates reports whether a sign stands between the parts of a value.
func separates(r rune) bool { return strings.ContainsRune(" \t=:,;&?@\"'{}[]()<>|", r) }

// random reports whether a text looks as if it were made by chance: letters and digits mixed, or signs between them
// that words, paths and names of hosts do not have.
func random(text string) bool {
	if utf8.RuneCountInString(text) < longText {
		return false
	}
	digits, letters, signs, dots := false, false, false, false
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits = true
		case unicode.IsLetter(r):
			letters = true
		case r == '.' || r == '/':
			dots = true
		case r == '-' || r == '_' || unicode.IsSpace(r):
		default:
			signs = true
		}
	}
	return letters && (digits && !dots || signs && digits)
}
