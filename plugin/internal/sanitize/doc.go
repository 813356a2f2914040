// Package sanitize turns the output of a program, as a stream, into the plain text
// that a terminal would show in the end.
//
// Raw bytes take this way:
//
//	Sanitizer.Write ─► ground: text() ──► line: text is added, or put into cells ─► writer
//	                     │    ▲                ▲
//	                     ▼    │                │ edits
//	                   escape: escaped() ──────┘
//
// sanitize.go reads ground, escape.go escape sequences, line.go keeps the line
// that is being written, cells.go and edit.go change it once it is edited.
// scan.go looks at bytes and runes.
//
// The result has printable text, newlines and tabs only, and is valid UTF-8:
//
//   - Escape sequences, control bytes and DEL are dropped. So are C1 controls that are encoded in
//     UTF-8 (U+0080 to U+009F), with the sequences that they begin.
//   - Of the bytes that are not UTF-8, 0x9b begins a control sequence; every
//     other one becomes U+FFFD.
//   - LF, VT and FF are newlines; a CR before them is dropped. Elsewhere CR, backspace, tab, and
//     the control sequences that erase or move within the line do what they do on a terminal.
//   - A sequence that never ends is given up after 1 MiB. A string, such as a title, is
//     given up at the first newline in it; a control sequence at the first newline after
//     4 KiB.
//   - The front of a line that is longer than 64 KiB cannot be edited any more, and neither
//     can that of a line which is erased again and again while it is longer than 512
//     columns. If a program jumps to the right again and again and writes next to nothing, the
//     cursor does not get as far to the right as on a terminal. Because of these bounds any output
//     takes at most about 20 times as long as a progress bar of as many bytes.
//
// The division of the stream into chunks never changes the result.
package sanitize
