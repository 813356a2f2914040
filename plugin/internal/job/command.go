package job

import (
	"os"

	"bashplugin/plugin/internal/process"
)

// maxArgument is the longest argument that Linux takes, its final NUL included
// (MAX_ARG_STRLEN).
const maxArgument = 128 << 10

// runScript is what bash runs in place of a command that is too long for an
// argument: it reads the command from descriptor 3 and runs it as bash -c
// would, with neither the descriptor nor the variable left. What runs before it,
// as BASH_ENV says, may have used the descriptor.
const runScript = `IFS= builtin read -r -d "" <&3 || :; exec 3<&-; ` +
	`[[ ${REPLY-} ]] || { builtin echo "bash: the command is lost: BASH_ENV uses descriptor 3, by which a long one comes" >&2; builtin exit 126; }; ` +
	`builtin eval "unset REPLY;$REPLY"` // all in one line, so that bash counts those of the command

// arguments sets how bash gets the command. The file, nil for a short command,
// is closed after the start.
func arguments(spec *process.Spec, command string) (*os.File, error) {
	spec.Args = []string{"bash", "-c", "--", command} // -- for a command that begins with - or +
	if len(command) < maxArgument {
		return nil, nil
	}
	script, err := process.TextFile(command)
	if err != nil {
		return nil, err
	}
	spec.Args[3] = runScript
	spec.Files = append(spec.Files, script)
	return script, nil
}
