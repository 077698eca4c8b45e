// Package fetch gets what a repository takes from outside of it into a store: git repositories, charts of chart
// repositories and registries, and single files. Whoever renders says what is wanted (see package render/remote), a
// Fetcher gets it, and the rendering reads it from the store.
//
// Everything that is asked for was written by strangers. Only https is used (and oci over https) unless the operator
// allows more, addresses are checked as they are dialled, and nothing that is fetched is run. On a laptop git runs with
// the user's own configuration instead and dials by itself.
//
// HTTP requests follow redirects only where the first address was allowed to lead as well, show credentials to one host,
// and bound answers and time. Where HTTPS_PROXY names a proxy it is the proxy that resolves and dials; what it lets
// through is up to it. Only addresses that are written as numbers are refused before. Git fetches into a repository of
// its own that is moved into the store when it is whole.
package fetch
