package confine

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A jump has eight bits: one that is too long would lead elsewhere.
func TestEachJumpOfAFilterStaysWithin(t *testing.T) {
	for name, m := range machines {
		for _, confined := range []bool{false, true} {
			for _, noNetwork := range []bool{false, true} {
				program := filter(m, aims{confined: confined, noNetwork: noNetwork, listened: confined})
				require.Less(t, len(program), 255, "%s: a body might be too long for a jump", name)
				for i, step := range program {
					if step.Code&7 == unix.BPF_JMP {
						assert.Less(t, i+1+int(max(step.Jt, step.Jf)), len(program), "%s: instruction %d", name, i)
					}
				}
				last := program[len(program)-1]
				assert.EqualValues(t, unix.BPF_RET, last.Code&7, name)
			}
		}
	}
}

func TestTheNumbersOfThisMachine(t *testing.T) {
	m, known := machines[runtime.GOARCH]
	if !known {
		t.Skip("there is no filter for this architecture")
	}
	for name, number := range map[string]uint32{
		"shmget": unix.SYS_SHMGET, "shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL, "semget": unix.SYS_SEMGET,
		"semop": unix.SYS_SEMOP, "semctl": unix.SYS_SEMCTL, "semtimedop": unix.SYS_SEMTIMEDOP, "msgget": unix.SYS_MSGGET,
		"msgsnd": unix.SYS_MSGSND, "msgrcv": unix.SYS_MSGRCV, "msgctl": unix.SYS_MSGCTL, "mq_open": unix.SYS_MQ_OPEN,
		"mq_unlink": unix.SYS_MQ_UNLINK, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL,
	} {
		assert.Equal(t, number, m.native.foreign[name], name)
	}
	assert.EqualValues(t, unix.SYS_PRLIMIT64, m.native.prlimit)
	assert.EqualValues(t, unix.SYS_KILL, m.native.kill)
}
