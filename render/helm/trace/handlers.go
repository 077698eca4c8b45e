package trace

import "strings"

// function is what is known of a function of templates.
type function struct {
	taint   handler                            // where its results come from
	before  func(c *call) handler              // the same, of what the call changes
	native  func(f *frame, args []value) value // it is executed here
	special bool                               // and, or: arguments are evaluated as needed
	// kept means that it is not called to see what a block would print: it changes what it is given, costs much, or would
	// return something else of other values.
	kept bool
}

// functions returns what is known of functions by their names. Of others the results are of all that went in.
func functions() map[string]function {
	out := map[string]function{}
	for _, some := range []struct {
		function
		names string
	}{
		{function{special: true}, "and or"},
		{function{native: include}, "include"},
		{function{native: tpl}, "tpl"},
		{function{taint: spelled}, "quote squote print cat toString join"},
		{function{taint: formatted}, "printf"},
		{function{taint: padded}, "indent nindent"},
		{function{taint: replaced}, "replace regexReplaceAll regexReplaceAllLiteral"},
		{function{taint: within}, "trim trimAll trimall trimPrefix trimSuffix trunc substr lower upper title untitle " +
			"swapcase"},
		{function{taint: passed}, "required"},
		{function{taint: chosen, kept: true}, "default coalesce"},
		{function{taint: ternary}, "ternary"},
		{function{taint: encoded}, "toYaml toYamlPretty toJson toPrettyJson toRawJson"},
		{function{taint: fromText}, "fromYaml fromYamlArray fromJson fromJsonArray"},
		{function{taint: indexed}, "index get hasKey"},
		{function{taint: dug}, "dig"},
		{function{taint: dict}, "dict"},
		{function{taint: picked}, "pick omit"},
		{function{taint: deepCopied}, "deepCopy"},
		{function{taint: ended}, "first last"},
		{function{taint: listed}, "list tuple"},
		{function{taint: gathered}, "splitList keys values pluck rest initial append push prepend concat reverse uniq " +
			"without compact slice chunk sortAlpha toStrings"},
		{function{taint: setKey, kept: true}, "set unset"},
		{function{before: merging, kept: true}, "merge mergeOverwrite"},
		{function{taint: lookedUp, kept: true}, "lookup"},
		{function{taint: invented, kept: true}, "randAlpha randAlphaNum randAscii randNumeric randBytes randInt uuidv4 " +
			"now genPrivateKey genCA genCAWithKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert " +
			"genSignedCertWithKey bcrypt htpasswd shuffle encryptAES derivePassword"},
	} {
		for name := range strings.FieldsSeq(some.names) {
			out[name], out["must"+strings.ToUpper(name[:1])+name[1:]] = some.function, some.function
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
