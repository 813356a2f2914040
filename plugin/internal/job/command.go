package job

import (
	"os"

	"bashplugin/plugin/internal/process"
)

// maxArgument is the longest argument that Linux takes, its final NUL included
// (MAX_ARG_STRLEN).
const maxArgument = 128 << 10

// runScript replaces a command that is too long for an argument. It reads the command from
// descriptor 3, closes the descriptor, unsets the variable and runs the command as bash -c would.
// The script that BASH_ENV names runs earlier and may have read from the descriptor, or closed it.
//
// It is one line, so that the line numbers in bash's messages are those of the command.
const runScript = `IFS= builtin read -r -d "" <&3 || :; exec 3<&-; ` +
	`[[ ${REPLY-} ]] || { builtin echo "bash: the command is lost: ` +
	`BASH_ENV uses descriptor 3, by which a long one comes" >&2; builtin exit 126; }; ` +
	`builtin eval "unset REPLY;$REPLY"`

// arguments adds the command to spec. For a long command it returns a file, which the caller
// closes after the start; for a short one it returns nil.
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
