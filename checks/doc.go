// Package checks runs one check of one change: it renders what the change reaches at both commits, turns every
// difference into an admission review, evaluates the policies, and puts each finding on the line a person must edit.
//
// It knows no GitHub: a Change goes in, a Report comes out.
package checks
