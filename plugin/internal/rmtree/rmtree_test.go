package rmtree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"bashplugin/plugin/internal/rmtree"
)

// asUserEnv makes this program remove the path in the variable.
const asUserEnv = "RMTREE_TEST_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(asUserEnv); path != "" {
		var limit syscall.Rlimit
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		limit.Cur = 64 // a descriptor for each level would be too many
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		if err := rmtree.Path(path); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deep makes a tree that is deeper than paths may be long, and whose names are those of Below.
const deep = `exec python3 -c 'import os
for i in range(2500):
    if i < 1000: os.mkdir(f"moved-{i}")
    os.mkdir("d")
    os.chdir("d")
'`

func TestRemoveWhatACommandHasMade(t *testing.T) {
	const nobody = 65534
	users := map[string]int{"as this user": os.Getuid()}
	if os.Getuid() == 0 {
		users["as an ordinary user"] = nobody
	}
	for name, script := range map[string]string{
		"nothing":     "cd .. && rmdir top",
		"a file":      "cd .. && rmdir top && echo x >top",
		"a link":      "cd .. && rmdir top && ln -s outside top",
		"files":       "mkdir a && touch a/{1..300} {1..300}",
		"deep":        deep,
		"locked":      "mkdir -p a/b/c && touch a/b/c/x && chmod 0 a/b/c && chmod 555 a/b && chmod 0 a && chmod 0 .",
		"links":       "mkdir a && ln -s ../../outside a/link && ln -s / root && ln -s ../outside b && mkdir moved-1 && ln -s ../outside moved-2",
		"other files": "mkfifo fifo && mkdir a && mkfifo a/fifo",
	} {
		for user, uid := range users {
			t.Run(name+" "+user, func(t *testing.T) {
				t.Parallel()
				root, err := os.MkdirTemp("", "rmtree-")
				require.NoError(t, err)
				t.Cleanup(func() { _ = rmtree.Path(root) })
				top, outside := filepath.Join(root, "top"), filepath.Join(root, "outside")
				for _, dir := range []string{root, top, outside} {
					require.NoError(t, os.MkdirAll(dir, 0o755))
					require.NoError(t, os.Chown(dir, uid, -1))
				}
				require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), nil, 0o666))
				as := func(cmd *exec.Cmd) {
					if uid != os.Getuid() {
						cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
					}
					out, err := cmd.CombinedOutput()
					require.NoError(t, err, string(out))
				}
				make := exec.Command("bash", "-c", script)
				make.Dir = top
				as(make)
				remove := exec.Command("/proc/self/exe")
				remove.Env = append(os.Environ(), asUserEnv+"="+top)
				as(remove)
				_, err = os.Lstat(top)
				assert.ErrorIs(t, err, os.ErrNotExist)
				assert.FileExists(t, filepath.Join(outside, "file"))
			})
		}
	}
}
