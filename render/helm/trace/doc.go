// Package trace tells, of the bytes that a chart's templates printed, where they came from.
//
// Helm renders; this package executes the same templates a second time with an evaluator of its own, in which every
// value carries its origins: a path in the merged values, a key, an offset in a template or in a file of the chart,
// the release, the cluster's capabilities. Functions are called for real, on the real values; only origins are added.
// What the shadow execution printed counts only where it is byte for byte what Helm printed, so that a difference
// between the two evaluators costs an explanation and never gives a wrong one.
//
// Strings have segments, each with its origin, its offset in the origin and the conditions that it stood under. Other
// values have one origin, which may be an ordered mixture. Maps and slices have theirs in a side table by identity.
// Where an action printed nothing or a block was skipped a segment without bytes stays that keeps the parse
// tree (a skipped block), through which [Trace.Absent] finds the values that would have printed a missing field.
package trace
