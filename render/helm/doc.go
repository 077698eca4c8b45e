// Package helm renders Helm charts in this process: the output is byte for byte that of `helm template` of Helm 4.3.1 for
// the same input. Helm's own packages load the chart, resolve its dependencies, merge its values, make the data of each
// template, and sort the output. This package parses and executes the templates, in the few steps of Helm's engine. So they
// are parsed once for many renders, and templates that include themselves without end can be stopped.
//
// The differences are listed in Output, or are frozen: functions that are random or read the clock return fixed results that
// depend only on the release, the template, the call and its arguments. So two renders of the same input are equal.
// lookup calls a function of the caller instead of a cluster. Nothing is fetched, and no program is run.
//
// A chart is untrusted input. Its size, nesting and output are limited, and a panic is an error. If a render exceeds its time
// limit or its context ends, Render returns and the goroutine continues until its next output or call of a bounded
// function. A loop without either never ends. A mapping that contains itself and is printed by an action ends the process,
// as it ends Helm. So render untrusted charts in a process that may be killed.
//
// Helm writes warnings about values to the process's log, including the values. Callers that do not want this must set the
// log's output.
package helm
