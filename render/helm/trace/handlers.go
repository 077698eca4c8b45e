package trace

// madeUp are the functions whose results are random, or depend on the time or on an order that Go does not define.
var madeUp = map[string]bool{
	"randAlpha": true, "randAlphaNum": true, "randAscii": true, "randNumeric": true, "randBytes": true, "randInt": true,
	"uuidv4": true, "now": true, "genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true,
	"genSelfSignedCertWithKey": true, "genSignedCert": true, "genSignedCertWithKey": true, "bcrypt": true,
	"htpasswd": true, "shuffle": true, "encryptAES": true, "derivePassword": true,
}

// invented is the origin of a made up result: the function, and what went in.
func (c *call) invented() taint {
	sh := c.mixed()
	m := mixer{parts: []*node{{kind: Random, key: c.name}}}
	m.add(sh.org)
	return taint{org: m.node(), cond: sh.cond, derived: true}
}

// handlers returns, by function, what knows where its results come from. Functions without one mix what went in.
func handlers() map[string]handler {
	h := map[string]handler{
		"quote": (*call).quoted, "squote": (*call).quoted, "indent": (*call).indented, "nindent": (*call).indented,
		"replace": (*call).replaced, "printf": (*call).formatted, "print": (*call).printed, "toString": (*call).same,
		"cat":             (*call).catted,
		"regexReplaceAll": (*call).expanded, "regexReplaceAllLiteral": (*call).expanded,
		"mustRegexReplaceAll": (*call).expanded, "mustRegexReplaceAllLiteral": (*call).expanded,
		"trimPrefix": (*call).suffixOf, "trimSuffix": (*call).prefixOf, "trim": (*call).within, "trimAll": (*call).within,
		"trimall": (*call).within, "trunc": (*call).truncated, "substr": (*call).truncated,
		"lower": (*call).sameLength, "upper": (*call).sameLength, "title": (*call).sameLength,
		"untitle": (*call).sameLength, "swapcase": (*call).sameLength,
		"splitList": (*call).splitList, "split": (*call).splitMap, "join": (*call).joined,
		"default": (*call).defaulted, "coalesce": (*call).coalesced, "ternary": (*call).ternary,
		"required": (*call).second, "toYaml": (*call).toYAML, "toYamlPretty": (*call).toYAML, "toJson": (*call).toJSON,
		"toPrettyJson": (*call).toJSON, "toRawJson": (*call).toJSON, "fromYaml": (*call).fromText,
		"fromYamlArray": (*call).fromText, "fromJson": (*call).fromText, "fromJsonArray": (*call).fromText,
		"lookup": (*call).lookedUp,
		"dict":   (*call).dict, "get": (*call).got, "set": (*call).setKey, "unset": (*call).unsetKey,
		"hasKey": (*call).hasKey, "dig": (*call).dug, "pluck": (*call).plucked, "keys": (*call).keysOf,
		"values": (*call).valuesOf, "pick": (*call).picked, "omit": (*call).picked, "deepCopy": (*call).deepCopied,
		"list": (*call).listed, "tuple": (*call).listed, "first": (*call).chosen, "last": (*call).chosen,
		"sortAlpha": (*call).stringsOf, "toStrings": (*call).stringsOf,
	}
	for _, name := range []string{"rest", "initial", "append", "push", "prepend", "concat", "reverse", "uniq",
		"without", "compact", "slice", "chunk"} {
		h[name] = (*call).elements
	}
	for _, name := range []string{"ToYaml", "ToJson", "ToPrettyJson", "ToRawJson"} {
		h["must"+name] = h["t"+name[1:]]
	}
	for _, name := range []string{"deepCopy", "first", "last", "rest", "initial", "append", "push", "prepend",
		"reverse", "uniq", "without", "compact", "slice", "chunk", "fromJson"} {
		h["must"+string(name[0]-'a'+'A')+name[1:]] = h[name]
	}
	return h
}
