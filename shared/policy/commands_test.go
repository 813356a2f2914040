//go:build unix

package policy_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/shared/policy"
)

// reading are commands that Reading allows. None changes a file.
var reading = []string{
	"", "# a comment", "ls", "ls -la --color=never evil", "cat a.txt b.txt", "head -n 1 a.txt", "tail -1 a.txt",
	"wc -l a.txt", "stat -c '%s %n' a.txt", "file -b a.txt", "du -sh .", "df -h .", "pwd", "echo 'a b' \"c\" d\\ e", "date +%F",
	"date -u +%s", "whoami", "id -u", "uname -a", "env", "printenv HOME", "which git", "type ls", "command -v git",
	"git status --short", "git status -sb", "git diff", "git diff HEAD -- a.txt", "git diff --stat HEAD~1 HEAD",
	"git log --oneline -n 3", "git --no-pager log -p -1", "git show HEAD:a.txt", "git blame -w a.txt", "git ls-files -m",
	"git rev-parse --show-toplevel", "grep -rn alpha .", "grep -E 'a|b' a.txt | sort | uniq -c", "sort -k1,1 -nr a.txt",
	"cut -d' ' -f1 a.txt", "tr a-z A-Z < a.txt", "diff -u a.txt b.txt", "cmp a.txt b.txt", "diff <(sort a.txt) <(sort b.txt)",
	"find . -name '*.txt' -type f -size +0k -mtime -7", "find . -maxdepth 1 -not -name evil -print0",
	`find . -name '*.txt' -exec grep -l alpha {} \;`, "find . -name '*.txt' -exec wc -l {} +",
	"sed -n '1,2p' a.txt", "sed -n '/alpha/p;$p' a.txt", "sed 's/alpha/w hit/g' a.txt", `sed -E 's|a\.b|c|;s#x#y#' a.txt`,
	"tar tf x.tar", "tar -tvf x.tar", "od -c a.txt", "basename /a/b.c .c", "realpath .", "sha256sum a.txt",
	"ls 2>/dev/null >/dev/null", "ls 2>&1 | head -3", "cat <<'EOF'\n$(touch hit)\nEOF", "cat <<EOF\ntouch hit\nEOF",
	"cat <<< 'touch hit'", "cd evil && cat ls", "LC_ALL=C sort a.txt", "env LANG=C.UTF-8 ls", "TZ=UTC date",
	"timeout 5 git log -1", "nice -n 5 wc -c a.txt", "nohup ls", "time ls", "command ls", "bash -c 'ls; pwd'", "sh -c 'ls | wc -l'",
	"bash <<EOF\nls\nEOF", "set -euo pipefail; ls", "if [ -f a.txt ]; then cat a.txt; else echo none; fi",
	"for i in 1 2; do echo hi; done", "while false; do ls; done", "case a in a) ls ;; *) pwd ;; esac", "! grep -q omega a.txt",
	"(cd evil; ls) && { pwd; }", "show() { git log -1; }; show", "x=1; y=$(git rev-parse HEAD); ls", "[[ -f a.txt && a == b ]]",
	"((1 + 2 > 2))", "/bin/ls /", "l''s \"-l\"", "ls \\\n  -l", `printf '%s\n' "touch hit"`, "echo touch hit", "ls -- ';touch hit'",
	"git log --grep='$(touch hit)' -1", "git branch -a", "git remote -v", "git status -uno", "[ 'a[$(touch hit)]' -eq 0 ]",
	"printf %d 'a[$(touch hit)]'", "sed 's/[a-z]/x/;s/[[:space:]]*$//' a.txt", "exit 'a[$(touch hit)]'", "seq 'a[$(touch hit)]'", "echo '`touch hit`' \"\\$(touch hit)\" \\; touch hit",
}

// hiding are commands that change a file, most by making hit, and try not to look like it.
var hiding = []string{
	// Plain, in other words.
	"touch hit", `\touch hit`, "t''ouch hit", `"touch" hit`, `to\uch hit`, `$'\x74ouch' hit`, `$'\164ouch' hit`, "/usr/bin/touch hit",
	"//usr/bin/./touch hit", "/usr/bin/../bin/touch hit", "{touch,hit}", "/usr/bin/touc? hit", "/usr/bin/[t]ouch hit",
	"./canary", "evil/../canary", "~/canary", "x=touch; $x hit", "x='touch hit'; $x", "$(echo touch) hit", "${x:-touch} hit",
	"cp a.txt hit", "rm a.txt", "echo alpha | tee hit", "dd if=a.txt of=hit", "mkdir hit", "ln -s a.txt hit",
	// Lists, groups and substitutions.
	"ls; touch hit", "ls && touch hit", "false || touch hit", "ls | touch hit", "ls & touch hit", "ls\ntouch hit", "(touch hit)",
	"{ touch hit; }", "if touch hit; then ls; fi", "until touch hit; do ls; done", "for i in 1; do touch hit; done",
	"for i in $(touch hit); do ls; done", "case a in a) touch hit;; esac", "case $(touch hit) in *) ls;; esac", "! touch hit",
	"time touch hit", "echo $(touch hit)", "echo `touch hit`", "echo `echo \\`touch hit\\``", `echo "$(touch hit)"`, "x=$(touch hit)",
	"x=(a $(touch hit))", "x=${y:-$(touch hit)}", "x=${y:=$(touch hit)}", "cat <(touch hit)", "ls > >(touch hit)",
	"[[ -n $(touch hit) ]]", "cat <<EOF\n$(touch hit)\nEOF", "cat <<EOF; ls\n`touch hit`\nEOF", "cat <<< $(touch hit)", "!(touch hit)",

	// Functions and aliases.
	"f() { touch hit; }; f", "ls() { touch hit; }; ls", "function ls { touch hit; }; ls", "ls() (touch hit) ; (ls)",
	"shopt -s expand_aliases\nalias ls='touch hit'\nls", "command_not_found_handle() { touch hit; }; nosuchcommand",
	// What runs text or other commands.
	"eval 'touch hit'", "eval to''uch hit", ". ./script", "source ./script", "trap 'touch hit' EXIT", "trap 'touch hit' DEBUG; ls",
	"bash -c 'touch hit'", `sh -c "touch hit"`, "bash -c 'bash -c \"touch hit\"'", "bash <<< 'touch hit'", "bash <<EOF\ntouch hit\nEOF",
	"bash <<'A' <<'B'\nls\nA\ntouch hit\nB", "echo touch hit | bash", "bash script", "bash < script", "bash /dev/stdin < script",
	"bash -s < script", "bash --rcfile script -ic ls", "bash -O expand_aliases -c 'alias x=touch\nx hit'", "env touch hit",
	"env -S 'touch hit'", "env -i /usr/bin/touch hit", "timeout 5 touch hit", "timeout -s KILL 5 touch hit", "nice touch hit",
	"nice -n3 touch hit", "nohup touch hit", "command touch hit", "exec touch hit", "builtin eval 'touch hit'",
	"stdbuf -o0 touch hit", "setsid -w touch hit", "nice timeout 5 env nohup touch hit", "coproc touch hit; wait",
	"echo hit | xargs touch", "echo hit | xargs -I{} touch {}", "echo a.txt | xargs sort -o", "echo --output=hit | xargs git diff",
	`find . -maxdepth 0 -exec touch hit \;`, `find . -maxdepth 0 -exec sh -c 'touch hit' \;`, `find . -maxdepth 0 -exec touch hit {} +`,
	`find canary -exec ./{} \;`, `find evil -name ls -execdir ./ls \;`, "find a.txt -delete", "find . -maxdepth 0 -fprint hit",
	"find . -maxdepth 0 -fprintf hit x", "find . -maxdepth 0 -fls hit", "find . -name -exec -o -maxdepth 0 -fprint hit",
	`find script -exec bash {} \;`, "find . -maxdepth 0 -exec ls {} + -fprint hit", `find 'x;touch hit' -exec sh -c 'echo {}' \;`,
	"jobs -x touch hit", "compgen -C 'touch hit' x", "mapfile -C 'touch hit #' -c 1 < a.txt", "hash -p ./canary ls; ls",
	// Arithmetic and names of variables, which bash evaluates.
	"a[$(touch hit)]=1", "x='a[$(touch hit)]'; ((x))", "x='a[$(touch hit)]'; y=$((x))", "x='a[$(touch hit)]'; y=$[x]",
	"x='a[$(touch hit)]'; z=abc; y=${z:x}", "x='a[$(touch hit)]'; y=${b[x]}", "x='a[$(touch hit)]'; y=${!x}",
	"x='$(touch hit)'; y=${x@P}", "[[ 'a[$(touch hit)]' -eq 0 ]]", "[[ -v 'a[$(touch hit)]' ]]", "test -v 'a[$(touch hit)]'",
	"[ -v 'a[$(touch hit)]' ]", "printf -v 'a[$(touch hit)]' x", "read 'a[$(touch hit)]' <<< x", "a=(1); unset 'a[$(touch hit)]'",
	"let 'a[$(touch hit)]=1'", "declare 'a[$(touch hit)]=1'", "x='a[$(touch hit)]'; declare -i y=x",
	"x='a[$(touch hit)]'; for ((x; 0; )); do :; done", "ls='a[$(touch hit)]'; (\\\n(ls))",
	"sleep 0 & wait -n -p 'a[$(touch hit)]'",
	// Variables that change what programs do.
	"PATH=$PWD/evil; ls", "PATH=$PWD/evil ls", "export PATH=$PWD/evil; ls", "for PATH in $PWD/evil; do ls; done",
	"read PATH <<< $PWD/evil; ls", "printf -v PATH %s $PWD/evil; ls", "BASH_ENV=./script bash -c ls", "env BASH_ENV=./script bash -c ls",
	"export BASH_ENV=./script; bash -c ls", "env 'BASH_FUNC_ls%%=() { touch hit; }' bash -c ls", "PS4='$(touch hit)'; set -x; ls",
	"GIT_EXTERNAL_DIFF='touch hit #' git diff", "GIT_EXTERNAL_DIFF='touch hit #' git log -p --ext-diff -1",
	"HOME=$PWD/evil git diff", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.external GIT_CONFIG_VALUE_0='touch hit #' git diff",
	"TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=./canary' tar tf x.tar", "set -a; GIT_EXTERNAL_DIFF='touch hit #'; git diff",
	"set -k; git diff GIT_EXTERNAL_DIFF='touch hit #'", "declare -x GIT_EXTERNAL_DIFF='touch hit #'; git diff",
	// Options.
	"git diff --output=hit", "git diff --output hit", "git log -1 --output=hit", "git show -- --output=x; git show --output=hit",
	"git -c alias.x='!touch hit' x", "git -c diff.external='touch hit #' diff",
	"git --exec-path=evil x", "git -C evil init -q", "git grep -O./canary alpha", "git grep --open-files-in-pager=./canary alpha",
	"git config alias.x '!touch hit'", "git branch other", "git remote add x y", "git diff <&---output=hit", "git diff 2>&---output=hit",
	"git diff --no-index --output=hit a.txt b.txt", "sort -o hit a.txt", "sort a.txt -ohit", "sort a.txt --output=hit", "sort --outp hit a.txt", "sort -uo hit a.txt",
	"sort -S 1k --compress-program=./canary big.txt", "uniq a.txt hit", "uniq -c a.txt hit", "sed -n 'w hit' a.txt", "sed 's/a/b/w hit' a.txt",
	"sed -n '1e touch hit' a.txt", "sed 's/.*/touch hit/e' a.txt", "sed -n '/[/]/p;1e touch hit' a.txt", "sed -i s/alpha/omega/ a.txt", "sed -n p a.txt -i.old",
	"sed -n s/a/b/p a.txt --in-place", "sed -e p -e 'w hit' a.txt", "sed --expression='w hit' a.txt", "sed -f script.sed a.txt", "sed -n 's|a|b|w hit' a.txt",
	"awk 'BEGIN { system(\"touch hit\") }'", "awk 'BEGIN { print > \"hit\" }'", "tar cf hit a.txt", "tar -tf x.tar --checkpoint=1 --checkpoint-action=exec=./canary",
	"tar xf x.tar --to-command='touch hit #'", "tar -tf x.tar -I ./canary", "tar --use-compress-program=./canary -tf x.tar", "tar tf x.tar --index-file=hit",
	// Files that redirections write.
	"ls > hit", "ls >> hit", "ls >| hit", "ls &> hit", "ls &>> hit", "ls >& hit", "ls 2> hit", "> hit", ": <> hit", "ls > 'hit'", "ls > $PWD/hit", "exec > hit; ls",
	"{ ls; } > hit", "(ls) > hit", "if ls; then ls; fi > hit", "f() { ls; } > hit; f", "ls 3> hit >&3", "cat <<EOF > hit\na\nEOF", "exec {x}> hit", "ls > ./evil/../hit",
	"cd evil; ls > ../hit", "cd evil && ./ls", "pushd evil; ./ls",
	// What parsers read differently.
	"git diff # \\\ntouch hit", "cat <<Q\n$(ls)Q\necho '\nQ\ntouch hit #'", "cat <<'Q'#\nQ#\ntouch hit\nQ\n", "cat <<Q\na\\\nQ\necho '\nQ\ntouch hit #'",
	"cat <<E\\Q\nEQ\ntouch hit\nE\\Q\n", "cat <<$'Q'\nQ\ntouch hit\n$Q\n", "ls $((touch hit) )", "cat <<-Q\n\tQ\ntouch hit\n Q\nQ\n", "ls a\\\n#; touch hit", "[[ a =~ a ]] && touch hit # ]]",
}

// inert are commands that may do what they hide elsewhere: with another bash, or where a program is
// there. They are not run.
var inert = []string{
	"sudo cat a.txt", "sudo -u bob -- cat a.txt", "doas cat a.txt", "rg --pre ./canary alpha", "rg -z alpha", "rg --hostname-bin=./canary x", "tree -o hit",
	"tar tf host:x.tar", "date 010203042026", "date -s yesterday", "hostname other", "cat < /dev/tcp/127.0.0.1/9", "echo a > /dev/udp/127.0.0.1/9", "zsh -c 'ls'",
	"busybox ls", "${ ls; }", "echo ${ ls; }", "alias ls='touch hit'; ls", `sh -c "cat \$'a\\'; touch hit #'"`, "sh -c 'cat <(ls)'", `echo $"ls"`, "{PATH}>/dev/null ls", "enable -f ./x.so ls",
	"BASHOPTS=expand_aliases bash -c ls", "env -u HOME ls", "exec -a git ls", "ls +(a)", "ls ~root", "ls '~/x'", "ls a\u00e0\u00a0b", "git diff --help", "ls\r\nls", "\xff", "xargs",
	"bind x", "complete -C ls ls", "fc -s", "export -f ls", "readonly x", "set -o posix", "set -- a", "unset -f ls", "wait -p x", "`ls", "ls <<EOF", "((",
	"sed 's/[/x/;s|]/y/w hit|z|' a.txt", "git diff --outp=hit", "git log --grep -- --output=hit", "git -c core.pager='touch hit #' -p log", "PAGER='touch hit #' git log",
	"ls; )\ntouch hit", "ls && touch hit)", "export 'a[$(touch hit)]=1'", "getopts a 'x[$(touch hit)]' -a",
	"mapfile 'a[$(touch hit)]' < a.txt", "read -a 'b[$(touch hit)]'",
}

// yard makes a folder with a repository, an archive, and programs that make the file hit.
func yard(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	const canary = "#!/bin/bash\n: > \"$HOME/hit\"\n"
	require.NoError(t, os.Mkdir(filepath.Join(dir, "evil"), 0o700))
	write("canary", canary, 0o700)
	write("evil/ls", canary, 0o700)
	write("evil/git-x", canary, 0o700)
	write("evil/.gitconfig", "[diff]\nexternal = ./canary\n", 0o600)
	write("script", canary, 0o600)
	write("script.sed", "w hit\n", 0o600)
	write("x;touch hit", "", 0o600)
	write("b.txt", "beta\n", 0o600)
	write("big.txt", strings.Repeat("one line after the other\n", 1000), 0o600)
	write("a.txt", "alpha\n", 0o600)
	out, err := execute(t, dir, "git init -q . && git add a.txt && git commit -qm one && echo beta >>a.txt && "+
		"git commit -qam two && echo gamma >>a.txt && tar cf x.tar a.txt")
	require.NoError(t, err, "%s", out)
	return dir
}

// execute runs a command with bash, as the plugin does, and waits for all that it starts.
func execute(t *testing.T, dir, command string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput() // until every process has closed the pipe
	require.NoError(t, ctx.Err(), "%q: %s", command, out)
	return string(out), err
}

// tree returns the names and the contents of all files, but not git's cache of file times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && entry.Name() != "index" {
			text, err := os.ReadFile(path)
			files[path[len(dir):]] = string(text)
			return err
		}
		files[path[len(dir):]] = entry.Type().String()
		return nil
	})
	require.NoError(t, err)
	return files
}

// What Reading allows changes nothing, and what changes something is not allowed, each run for real.
func TestCommandsForReal(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(reading)+len(hiding), 150)
	require.GreaterOrEqual(t, len(hiding), 100)
	model := yard(t)
	before := tree(t, model)
	for i, command := range slices.Concat(reading, hiding) {
		allowed := i < len(reading)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			decision, parts := policy.Policy{Rules: policy.Reading}.Decide(command)
			assert.Equal(t, allowed, decision == policy.Allow, "%q: %v", command, parts)
			dir := filepath.Join(t.TempDir(), "yard")
			// Another process copies: what this one writes, processes that it forks meanwhile hold open, and
			// a program that is open for writing does not start.
			require.NoError(t, exec.Command("cp", "-a", model, dir).Run())
			out, _ := execute(t, dir, command)
			unchanged := assert.ObjectsAreEqual(before, tree(t, dir))
			assert.Equal(t, allowed, unchanged, "%q: %s", command, out)
		})
	}
}

func TestCommandsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for _, command := range inert {
		decision, parts := policy.Policy{Rules: policy.Reading}.Decide(command)
		assert.Equal(t, policy.Ask, decision, "%q: %v", command, parts)
	}
}
