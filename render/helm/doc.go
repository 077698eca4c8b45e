// Package helm renders Helm charts in this process: the bytes are those of `helm template` of Helm 4.3.1 given the same
// input, because Helm's own packages load the chart, resolve its dependencies, merge its values and run its templates.
//
// What differs is said in Output or frozen: functions that are random or read the clock return stand-ins that depend on
// the release, the template, the call and its arguments only, so that two renders of one input are equal bytes; lookup
// asks a function of the caller instead of a cluster; nothing is ever fetched, no program is run.
//
// A chart is foreign input. Its size, nesting and output are limited, and a panic is an error. Helm's engine can't be
// stopped, though: when a render takes longer than its limit or its context, Render returns and leaves the goroutine
// behind. Whoever renders charts of strangers does it in a process that can be ended.
package helm
