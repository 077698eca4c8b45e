// Package trace finds out where the bytes that a chart's templates printed came from.
//
// Helm renders. This package executes the same templates again, with its own evaluator, in which every value has origins: a
// path in the merged values, a key, an offset in a template or in a file of the chart, the release, the cluster's
// capabilities. Functions are really called with the real values; only origins are added. The output of the traced
// execution is accepted only if it is byte for byte Helm's. So a difference between the evaluators loses an explanation, but
// never gives a wrong one.
//
// A string has segments. Each has an origin, an offset in the origin, and the conditions under which it was printed. Other
// values have one origin, which may be an ordered mixture. Origins of maps and slices are in a table, by identity. A skipped
// block, or an action that printed nothing, leaves a segment of length zero with its parse tree. [Trace.Absent] uses these
// to find the values that would have printed a missing field.
package trace
