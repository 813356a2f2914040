package process

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A plugin that is killed cannot tell which of its children are reaped after it:
// who gets their pids then is not the plugin's.
func TestReusedPIDsAreNotThePlugins(t *testing.T) {
	const begun, later = 1000, 2000
	for name, c := range map[string]struct {
		p     info
		other []info
		told  bool
	}{
		"the child":                          {info{pid: 7, start: begun}, nil, true},
		"a member of its group":              {info{pid: 8, pgrp: 7, start: later}, []info{{pid: 7, start: begun}}, true},
		"a member, the child has ended":      {info{pid: 8, pgrp: 7, start: later}, nil, true},
		"another that was there before":      {info{pid: 7, start: begun - 1}, nil, false},
		"another that has the pid now":       {info{pid: 7, start: begun + 1}, nil, false},
		"a member of another's group":        {info{pid: 8, pgrp: 7, start: later}, []info{{pid: 7, start: later}}, false},
		"a member of a group of before that": {info{pid: 8, pgrp: 7, start: begun - 1}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[int]info{c.p.pid: c.p}
			for _, p := range c.other {
				all[p.pid] = p
			}
			h := hunt{children: map[int]uint64{7: begun}}
			assert.Equal(t, c.told, h.isReported(c.p, all))
		})
	}
}

// Lines that found no room while the guardian was stopped are missing.
func TestDroppedLines(t *testing.T) {
	for text, want := range map[string]map[int]uint64{
		"":                         {},
		"+7 100\n+8 100\n-7 100\n": {8: 100},
		"+7 100\n+7 200\n":         {7: 200},
		"-7 100\n-8 100\n":         {},
		"+7 100\n+8 1":             {7: 100, 8: 1},
	} {
		assert.Equal(t, want, readChildren(bufio.NewScanner(strings.NewReader(text))), "%q", text)
	}
}
