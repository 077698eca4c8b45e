// Package helm renders Helm charts in this process: the bytes are those of `helm template` of Helm 4.3.1 given the same
// input, because Helm's own packages load the chart, resolve its dependencies, merge its values, say what each template
// is executed with, and sort what is printed. Templates are parsed and executed here, by the few steps of Helm's engine:
// so they are parsed once for many renders, and templates that include themselves without end can be stopped.
//
// What differs is said in Output or frozen: functions that are random or read the clock return stand-ins that depend on
// the release, the template, the call and its arguments only, so that two renders of one input are equal bytes; lookup
// asks a function of the caller instead of a cluster; nothing is ever fetched, no program is run.
//
// A chart is foreign input. Its size, nesting and output are limited, and a panic is an error. When a render takes
// longer than its limit or its context, Render returns and leaves the goroutine behind: it ends at its next output or
// call of a bounded function, which a loop without either never makes. A mapping that was put into itself and that an
// action then prints ends the process, as it ends Helm. Whoever renders charts of strangers does it in a process that
// can be ended.
//
// Helm writes warnings about values to the log of the process, with the values: whoever does not want that sets its
// output.
package helm
