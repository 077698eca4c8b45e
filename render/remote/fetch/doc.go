// Package fetch fetches what a repository uses from outside itself into a store: git repositories, charts of chart
// repositories and registries, and single files. The code that renders says what it wants (see package render/remote),
// a Fetcher fetches it, and the rendering reads it from the store.
//
// The addresses were written by strangers. So only https is used (and oci over https) unless the operator allows more,
// IP addresses are checked when they are dialled, and nothing that was fetched is run. On a laptop, git runs with the
// user's own configuration instead and makes its own connections.
//
// HTTP requests follow a redirect only to addresses that are allowed as well. They send credentials to one host only,
// and limit the size of answers and the time. If HTTPS_PROXY names a proxy, the proxy resolves names and dials, and has
// to decide itself what it lets through; only addresses that are written as IP addresses are refused before. Git
// fetches into a repository of its own, which is moved into the store when it is complete.
package fetch
