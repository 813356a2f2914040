package process

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A plugin that is killed leaves entries of processes that are reaped without
// it: whoever gets their pids then is not the plugin's.
func TestWhoHasARecordedNumber(t *testing.T) {
	const begun, later = 1000, 2000
	for name, c := range map[string]struct {
		entry entry
		p     info
		other []info
		owned bool
	}{
		"the leader":                           {entry{begun, false}, info{pid: 7, start: begun}, nil, true},
		"a member":                             {entry{begun, false}, info{pid: 8, session: 7, start: later}, []info{{pid: 7, start: begun}}, true},
		"a member, its leader is gone":         {entry{begun, true}, info{pid: 8, session: 7, start: later}, nil, true},
		"another that was there before":        {entry{begun, false}, info{pid: 7, start: begun - 1}, nil, false},
		"another with the pid of one reaped":   {entry{begun, true}, info{pid: 7, start: begun + 1}, nil, false},
		"another, and nobody told of the reap": {entry{begun, false}, info{pid: 7, start: begun + 1}, nil, false},
		"a member of another's session":        {entry{begun, false}, info{pid: 8, session: 7, start: later}, []info{{pid: 7, start: later}}, false},
		"a member of another's process group":  {entry{begun, false}, info{pid: 8, pgrp: 7, start: later}, []info{{pid: 7, start: later}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[int]info{c.p.pid: c.p}
			for _, p := range c.other {
				all[p.pid] = p
			}
			assert.Equal(t, c.owned, owns(map[int]entry{7: c.entry}, c.p, all))
		})
	}
}
