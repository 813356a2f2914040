package executor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The cases of the function that the list comes from.
func TestGetCommandRoot(t *testing.T) {
	t.Run("should extract command root", func(t *testing.T) {
		assert.Equal(t, []string{"npm"}, programs("npm run dev"))
		assert.Equal(t, []string{"pnpm"}, programs("pnpm install"))
		assert.Equal(t, []string{"node"}, programs("/usr/bin/node script.js"))
	})
}

// What depends on time and output is tested with ModeAuto.
func TestShouldRunInBackground(t *testing.T) {
	t.Run("should return false for non-dev commands", func(t *testing.T) {
		assert.False(t, isDevCommand("echo hello"))
	})
	t.Run("should return true for dev commands", func(t *testing.T) {
		assert.True(t, isDevCommand("npm run dev"))
		assert.True(t, isDevCommand("pnpm dev"))
		assert.True(t, isDevCommand("yarn start"))
	})
}

func TestEveryListedProgramIsADevCommand(t *testing.T) {
	for _, program := range devCommands {
		assert.True(t, isDevCommand(program), program)
		assert.True(t, isDevCommand("/opt/bin/"+strings.ToUpper(program)+" x"), program)
		assert.False(t, isDevCommand("echo "+program), program)
	}
}

func TestPrograms(t *testing.T) {
	for _, test := range []struct {
		command string
		want    string // the programs
		dev     bool
	}{
		{"", "", false},
		{"   \n\t", "", false},
		{"npm", "npm", true},

		// Lists, pipelines, groups.
		{"cd app && npm run dev", "cd npm", true},
		{"cd app; npm run dev", "cd npm", true},
		{"cd app\nnpm run dev", "cd npm", true},
		{"false || make", "false make", true},
		{"npm start | tee log", "npm tee", true},
		{"cat x |& node -", "cat node", true},
		{"sleep 1 & node server.js", "sleep node", true},
		{"(cd app && npm run dev)", "cd npm", true},
		{"{ cd app; npm run dev; }", "cd npm", true},
		{"if true; then go test ./...; fi", "true go", true},
		{"for f in *.py; do python3 $f; done", "python3", true},
		{"while ! make; do sleep 1; done", "make sleep", true},
		{"diff <(ls) <(node x.js)", "diff", false},

		// What stands before the program.
		{"FOO=1 npm start", "npm", true},
		{"FOO=1 BAR+=2 npm start", "npm", true},
		{`FOO="a b; c" npm start`, "npm", true},
		{"1X=2 npm start", "1X=2", false},
		{"sudo npm install", "npm", true},
		{"sudo -u node whoami", "whoami", false},
		{"sudo -Eu bob npm start", "npm", true},
		{"sudo -ubob npm start", "npm", true},
		{"sudo --user=bob -- npm start", "npm", true},
		{"sudo --user bob npm start", "npm", true},
		{"env npm start", "npm", true},
		{"env -i -u HOME PATH=/bin npm start", "npm", true},
		{"time npm test", "npm", true},
		{"time -p npm test", "npm", true},
		{"time { npm test; }", "npm", true},
		{"nohup npm start &", "npm", true},
		{"exec npm start", "npm", true},
		{"exec -a dev npm start", "npm", true},
		{"command npm start", "npm", true},
		{"command -v npm", "", false},
		{"nice npm start", "npm", true},
		{"nice -n 10 npm start", "npm", true},
		{"nice -10 npm start", "npm", true},
		{"timeout 5 npm start", "npm", true},
		{"timeout -k 5 -s KILL 10 npm start", "npm", true},
		{"timeout --kill-after=5 10s npm start", "npm", true},
		{"timeout 5", "", false},
		{"/usr/bin/env FOO=1 /usr/bin/nice sudo ./npm", "npm", true},
		{"! npm test", "npm", true},
		{"sudo", "", false},
		{"sudo -u", "", false},

		// Quotes, escapes and paths.
		{"./node_modules/.bin/vite", "vite", true},
		{`"/usr/local/bin/node" server.js`, "node", true},
		{`'npm' start`, "npm", true},
		{`n"p"'m' start`, "npm", true},
		{`\npm start`, "npm", true},
		{"cd app && \\\n npm start", "cd npm", true},
		{`echo "a && npm start"`, "echo", false},
		{`echo 'a; npm start'`, "echo", false},
		{`echo a\; npm start`, "echo", false},
		{`echo "it's" && npm start`, "echo npm", true},
		{`echo "say \"hi; npm\""`, "echo", false},
		{`echo $'x' ; make`, "echo make", true},
		{"echo 'unfinished; npm", "", false},
		{`echo "unfinished; npm`, "", false},
		{"npm\\", "npm", true},

		// Shells.
		{"bash -c 'npm run dev'", "bash npm", true},
		{`bash -lc "cd app && npm run dev" name`, "bash cd npm", true},
		{"/bin/sh -e -c 'echo; make'", "sh echo make", true},
		{"bash -c -- 'npm start'", "bash npm", true},
		{"bash --norc -c 'npm start'", "bash npm", true},
		{`sudo bash -c "sh -c 'npm start'"`, "bash sh npm", true},
		{"bash -eo pipefail -c 'npm start'", "bash npm", true},
		{"bash -o errexit -c npm", "bash npm", true},
		{"bash npm", "bash", false},
		{"bash -c", "bash", false},
		{"bash -x script.sh -c npm", "bash", false},
		{"bash -c 'echo npm' node", "bash echo", false},

		// What only looks like one.
		{"echo npm", "echo", false},
		{"grep node file", "grep", false},
		{"ls npm; cat make", "ls cat", false},
		{"git commit -m make", "git", false},
		{"mypython x", "mypython", false},
		{"npm-check", "npm-check", false},
		{"node_exporter", "node_exporter", false},
		{"./npm/run", "run", false},
		{"gofmt -l .", "gofmt", false},
		{"npx vite", "npx", false},
		{"echo hi # npm start", "echo", false},
		{"# npm start", "", false},
		{"echo a#b; npm start", "echo npm", true},
		{"echo $# ; npm start", "echo npm", true},

		// Substitutions are not looked into.
		{"echo $(node -v)", "echo", false},
		{"echo $(echo $(node -v); npm)", "echo", false},
		{"echo `npm bin`", "echo", false},
		{"echo ${X:-npm} ; ls", "echo ls", false},
		{"echo $((1+2)); npm start", "echo npm", true},
		{"$(which npm) start", "$", false},
		{"X=$(node -v) ls", "ls", false},

		// Redirections.
		{"> log npm start", "npm", true},
		{">log 2>&1 npm start", "npm", true},
		{"npm start >log 2>&1", "npm", true},
		{"echo hi > npm", "echo", false},
		{"echo hi >npm; ls", "echo ls", false},
		{"echo hi &> log; npm", "echo npm", true},
		{"2>&- npm start", "npm", true},
		{"< npm cat", "cat", false},
		{"cat <<< npm", "cat", false},

		// Here-documents.
		{"cat > s.js <<'EOF'\nit's; npm\nEOF\nnode s.js", "cat node", true},
		{"cat > s.js <<EOF && ls\nnode x\nEOF", "cat ls", false},
		{"cat <<-E\n\tnpm start\n\tE\nls", "cat ls", false},
		{"cat <<A <<B\nnpm\nA\nmake\nB\nls", "cat ls", false},
		{"cat <<EOF\nnpm start", "", false},

		// Versions.
		{"python3.11 -m http.server", "python3.11", true},
		{"node18 x.js", "node18", true},
		{"PYTHON x.py", "PYTHON", true},
	} {
		assert.Equal(t, strings.Fields(test.want), append([]string{}, programs(test.command)...), "%q", test.command)
		assert.Equal(t, test.dev, isDevCommand(test.command), "%q", test.command)
	}
}

func FuzzIsDevCommand(f *testing.F) {
	f.Add(`cd app && FOO="x" sudo -u bob npm run dev 2>&1 | tee <(cat) # end`)
	f.Add("cat <<-'E' > x\n\tE\n${a} $(b `c`) \\")
	f.Fuzz(func(t *testing.T, command string) {
		programs(command)
		assert.True(t, isDevCommand("npm start\n"+command), "what follows a command changes nothing about it")
	})
}
