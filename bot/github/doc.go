// Package github is all that Lintel asks of GitHub's API and tells it: a Client speaks as the App, and every rule about
// GitHub's limits is kept here. The errors of its methods are *RetryLater, *Gone or plain errors that a later try may
// cure. Who uses a Client declares the methods it needs.
package github
