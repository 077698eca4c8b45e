package mask

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	shortMixed  = 6 // characters from which on a value of several kinds of characters, or a number, is unlikely
	shortLetter = 8 // likewise one of letters only, as names are
	longText    = 8 // characters from which on a part of a value tells something
	maxParts    = 4_000
)

// usual are words of so many letters that texts about anything have.
var usual = map[string]bool{"username": true, "password": true, "localhost": true, "postgres": true, "postgresql": true,
	"production": true, "development": true, "disabled": true, "required": true, "kubernetes": true, "validation": true,
	"database": true, "namespace": true, "container": true, "containers": true, "deployment": true, "resource": true,
	"resources": true, "services": true, "internal": true, "external": true, "security": true, "privileged": true,
	"unlimited": true, "standard": true, "application": true, "configuration": true, "kustomization": true,
	"annotations": true, "metadata": true, "template": true, "replicas": true, "mariadb": true, "rabbitmq": true}

// unlikely reports whether a text stands hardly anywhere but where the value of a Secret does: see the package.
func unlikely(text string) bool {
	n := utf8.RuneCountInString(text)
	digits, letters := kindsOf(text)
	if signs := strings.Count(text, "-") + strings.Count(text, "_") + strings.Count(text, "."); letters+signs == n { // a name
		return letters > 0 && n >= shortLetter && !usual[strings.ToLower(text)]
	}
	return n >= shortMixed && digits+letters > 0
}

// wordLike reports whether a value reads as a word or a number, and may be a part of others.
func wordLike(text string) bool {
	digits, letters := kindsOf(text)
	n := utf8.RuneCountInString(text)
	return letters == n || digits == n
}

// plainWord reports whether a value says nothing even where its Secret is spoken of.
func plainWord(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "nil", "none", "yes", "off", "opaque":
		return true
	}
	return false
}

func kindsOf(text string) (digits, letters int) {
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits, letters
}

// encrypted matches what SOPS writes in place of a value (https://getsops.io/docs/).
var encryptedValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:[a-z]+\]$`)
})

func isEncrypted(text string) bool {
	return strings.HasPrefix(text, "ENC[") && encryptedValue().MatchString(text)
}

// credential finds values in texts that hold several: addresses with a password, settings, JSON.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s:@]*:([^/\s@]+)@|` +
		`(?:pass|passwd|password|passphrase|pwd|secret|token|key|auth|credentials?)["']?\s*[:=]\s*["']?([^\s"',;&}]+)`)
})

// partsOf are the parts of a value that are as secret as it is: passwords in it, and what looks like made by chance.
// Ordinary words and names of hosts are none.
func partsOf(text string) (list []string) {
	add := func(s string) {
		if len(list) < maxParts && unlikely(s) {
			list = append(list, s)
		}
	}
	for _, m := range credential().FindAllStringSubmatch(text, maxParts) {
		if s := m[1] + m[2]; !strings.HasPrefix(s, "-----") { // which a key in PEM begins with
			add(s)
		}
	}
	for _, word := range strings.FieldsFunc(text, separates) {
		if len(word) == len(text) || !random(word) {
			continue
		}
		add(word)
		if inner, ok := decoded(word); ok {
			add(inner)
			if _, password, ok := strings.Cut(inner, ":"); ok {
				add(password)
			}
		}
	}
	return list
}

// separates reports whether a sign stands between the parts of a value.
func separates(r rune) bool { return strings.ContainsRune(" \n\r\t=:,;&?@\"'{}[]()<>|", r) }

// random reports whether a word looks as if it were made by chance: letters and digits mixed in some part of it, other
// than a number behind a name. Names of hosts, versions, regions and paths have no such part.
func random(word string) bool {
	const least = 5 // characters of such a part
	return utf8.RuneCountInString(word) >= longText && slices.ContainsFunc(strings.FieldsFunc(word, func(r rune) bool {
		return strings.ContainsRune("-_./", r)
	}), func(part string) bool {
		digits, letters := kindsOf(part)
		return utf8.RuneCountInString(part) >= least && digits > 0 && letters > 0 &&
			strings.ContainsFunc(strings.TrimRight(part, "0123456789"), func(r rune) bool { return !unicode.IsLetter(r) })
	})
}
