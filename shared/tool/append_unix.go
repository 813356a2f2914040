//go:build unix

package tool

import (
	"os"
	"syscall"
)

// appendTo appends to a log. A log that was removed needs no ending. What else a command
// may have put in its place, a link or a FIFO, is left alone.
func appendTo(path, text string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Nlink == 1 {
		_, _ = file.WriteString(text)
	}
}
