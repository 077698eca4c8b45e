// Package engine evaluates what the policies of a repository say about an admission request: compiled once,
// bound to exceptions and to what the repository declares, then evaluated any number of times.
//
// It does no I/O. Nothing it is given is changed, everything it returns is the caller's, and compiled policies and
// evaluators are immutable and safe for concurrent use. The same inputs give the same results in the same order.
package engine
