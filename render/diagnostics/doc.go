// Package diagnostics finds what in the sources of a root made kustomize refuse it, and says it in words that name
// the line and what to write there.
//
// It works after a build has failed, never before, and decides nothing: kustomize's verdict stands. Where kustomize
// stumbled is found by building again with fewer and fewer entries, so that it needs no reading of error texts; why, by
// looking at the entry with which the build first fails. Where that shows nothing, kustomize's own words stand on the
// line of the entry.
//
// The words name no lines and no positions in lists: an edit elsewhere in a file does not make another problem of one.
package diagnostics
