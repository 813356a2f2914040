// Package contract tests what package shared promises of a Bash, call by call, through
// the real plugin: what Execute, Check and Kill do, what a Result says, and what a command
// has around it.
package contract
