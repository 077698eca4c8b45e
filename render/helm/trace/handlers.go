package trace

import "strings"

// function describes a function of templates.
type function struct {
	taint   handler                            // returns the taint of its result
	before  func(c *call) handler              // the same, for a function that changes its arguments
	native  func(f *frame, args []value) value // replaces the call
	special bool                               // and, or: evaluate arguments only as needed
	// kept means that it is not called to see what a block would print: it changes its arguments, is expensive, or
	// would return something else for other values.
	kept bool
}

// functions returns the known functions by name. The result of any other function has the origins of all arguments, and so
// have the scalars in a list that it returns; maps keep theirs, by identity. A handler is kept if without it at least 0.1 %
// of the fields of public charts have another origin.
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
		{function{taint: listed}, "list tuple"},
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

// invented returns the taint of a result that is random or depends on the time: the function and its arguments.
func invented(c *call) taint {
	sh := c.mixed()
	m := mixer{parts: []*node{{kind: Random, key: c.name}}}
	m.add(sh.org)
	return taint{org: m.node(), cond: sh.cond, derived: true}
}
