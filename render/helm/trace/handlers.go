package trace

import "strings"

// handlers is what knows where the results of functions come from, by their names. Others mix what went in.
func handlers() map[string]handler {
	out := map[string]handler{}
	for _, some := range []struct {
		tell  handler
		names string
	}{
		{spelled, "quote squote print cat toString join"},
		{formatted, "printf"},
		{padded, "indent nindent"},
		{replaced, "replace regexReplaceAll regexReplaceAllLiteral"},
		{within, "trim trimAll trimall trimPrefix trimSuffix trunc substr lower upper title untitle swapcase"},
		{passed, "required"},
		{chosen, "default coalesce"},
		{ternary, "ternary"},
		{lookedUp, "lookup"},
		{encoded, "toYaml toYamlPretty toJson toPrettyJson toRawJson"},
		{fromText, "fromYaml fromYamlArray fromJson fromJsonArray"},
		{indexed, "index get hasKey"},
		{dug, "dig"},
		{dict, "dict"},
		{setKey, "set unset"},
		{picked, "pick omit"},
		{deepCopied, "deepCopy"},
		{ended, "first last"},
		{listed, "list tuple"},
		{gathered, "splitList keys values pluck rest initial append push prepend concat reverse uniq without " +
			"compact slice chunk sortAlpha toStrings"},
		{invented, "randAlpha randAlphaNum randAscii randNumeric randBytes randInt uuidv4 now genPrivateKey genCA " +
			"genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey bcrypt htpasswd " +
			"shuffle encryptAES derivePassword"},
	} {
		for name := range strings.FieldsSeq(some.names) {
			out[name], out["must"+strings.ToUpper(name[:1])+name[1:]] = some.tell, some.tell
		}
	}
	return out
}

// invented is the origin of a result that is random, or depends on the time: the function, and what went in.
func invented(c *call) taint {
	sh := c.mixed()
	m := mixer{parts: []*node{{kind: Random, key: c.name}}}
	m.add(sh.org)
	return taint{org: m.node(), cond: sh.cond, derived: true}
}
