// Package policy holds the policy and exception kinds as they are written in files: it reads them strictly
// and says for each thing that is wrong where it is written and what to do about it.
//
// A policy that cannot be read in full is a [Problem], never a policy that is quietly off. The package only
// reads; what a policy means is the business of the packages that compile it.
package policy
