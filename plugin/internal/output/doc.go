// Package output turns the raw output of a command into the text of a Result.
//
// Raw bytes go through a Stream:
//
//	         ┌──────────── under the Stream's mutex ───────────┐
//	Write ─► sanitize.Sanitizer ─► tail (the last bytes, in memory)
//	                 │         └─► logWriter.fill ─► file
//	                 ▼
//	         the line being written
//
//	Show  ◄─ tail and line; older text from the file
//	Watch ◄─ the same
//
// The mutex is never held while a file is read or written. The goroutine that
// reads the command's output also writes the log, in Ready, Flush and at the
// beginning of Write, so that a slow disk holds up the command alone.
//
// Memory is bounded however much is written: a tail of fixed size, the line
// being written, and two buffers for a log while it is written. Counts refer to
// the sanitized text and are always exact.
//
// A log has finished lines; the front of a very long line counts as finished.
// The line being written is appended whenever a Result names the log, and
// overwritten when the line goes on.
//
// Logs are a session's logs and the bounds that they share. Their folder is below a
// Folder, whose Sweep removes the folders of sessions that are long over. If all sessions
// of the user together reach their bound, ended sessions are removed sooner.
//
// A command may be able to write in both folders, so they are used by their descriptors,
// never by their paths. Another file with the name of a log is never taken for the log.
package output
