package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKeysForTheEditor(t *testing.T) {
	for name, c := range map[string][2]string{
		"text":                        {"echo 語 é", "echo 語 é"},
		"a line, and no more":         {"one\rtwo\r", "one\r"},
		"Ctrl-C":                      {"rm -rf x\x03echo", "rm -rf x" + clearLine},
		"Ctrl-C after ESC":            {"rm -rf x\x1b\x03", "rm -rf x" + clearLine},
		"Enter after ESC":             {"ls\x1b\r", "ls\r"},
		"Ctrl-D after an open CSI":    {"\x1b[1;\x04", "\x04"},
		"a letter after ESC is Alt":   {"\x1bxls", "ls"},
		"a character after ESC":       {"\x1b語", "語"},
		"ESC twice":                   {"\x1b\x1b[A", "\x1b[A"},
		"the editor's own keys":       {"\x01\x02\x04\x0b\x15\x17\x7f", "\x01\x02\x04\x0b\x15\x17\x7f"},
		"arrows, two ways":            {"\x1b[A\x1bOB\x1b[C\x1bOD", "\x1b[A\x1b[B\x1b[C\x1b[D"},
		"Home and End, four ways":     {"\x1b[1~\x1b[7~\x1bOH\x1b[H\x1b[4~\x1b[8~\x1bOF\x1b[F", strings.Repeat("\x1b[H", 4) + strings.Repeat("\x1b[F", 4)},
		"word by word":                {"\x1bb\x1bf\x1b[1;5C\x1b[1;3D\x1b\x7f", "\x1b[1;3D\x1b[1;3C\x1b[1;3C\x1b[1;3D\x17"},
		"function keys":               {"a\x1bOP\x1b[15~\x1b[24;5~b", "ab"},
		"a tab":                       {"cat\tfile", "cat␉file"},
		"bytes that are no character": {"caf\xe9 \xff \ufffd", "caf␦ ␦ ␦"},
		"C1 controls":                 {"a\u009b\u0085b", "ab"},
		"numbers after an open CSI":   {"\x1b[" + strings.Repeat("1;", 1000) + "mls", "ls"},
	} {
		t.Run(name, func(t *testing.T) {
			var whole keys
			whole.take([]byte(c[0] + " "))
			var bytewise keys
			var typed []byte
			for _, b := range []byte(c[0] + " ") {
				if typed = bytewise.take(append(typed, b)); bytewise.isWhole() {
					break
				}
			}
			assert.Equal(t, c[1], strings.TrimSuffix(string(whole.out), " "))
			assert.Equal(t, c[1], strings.TrimSuffix(string(bytewise.out), " "))
			assert.LessOrEqual(t, len(whole.sequence), maxSequence)
		})
	}
}
