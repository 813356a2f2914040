// Package executor is the contract, shared.Bash, over jobs: it checks
// requests, runs commands, decides when one becomes a background job, and
// keeps the jobs until they are killed or evicted.
package executor
