// Package github is the App's side of GitHub: a Client asks and writes as the App and keeps below GitHub's limits, a
// Webhook turns deliveries into jobs, SignIn identifies readers, and Setup registers the App. The errors of a Client's
// methods are *forge.RetryLater, *forge.Gone or plain errors that a later try may cure.
package github
