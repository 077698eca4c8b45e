// Package worker is the work of the GitHub App: it turns jobs into check runs, and serves webhooks, health and metrics.
//
// A job is only a key. The worker reads the present state of the pull request, fetches its commits, has them inspected
// in the sandbox, asks GitHub for what the inspection names (teams, reviews of exceptions), has them checked with the
// answers, and writes the report into a check run, which it always completes. All it needs comes through small
// interfaces, so that its decisions can be tested without GitHub, git or a child process. A Sweeper finds what webhooks did
// not bring, and Approvals finds out which exceptions were approved in review.
package worker
