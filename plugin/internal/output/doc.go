// Package output turns what a command writes into what a Result shows.
//
// Raw bytes enter a Stream, which owns three stages, each with a fixed bound:
//
//	pipe → Sanitizer → tail (the last bytes, in memory)
//	                 ↘ Log  (every byte, in a file, once memory is not enough)
//
// Counts are taken behind the Sanitizer and are exact however much is
// written. A Stream may be looked at while it is written: Stream.Show cuts
// what a Result has to show down to its limits, and a Watch waits for text.
package output
