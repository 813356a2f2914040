package main

import (
	"errors"
	"flag"
	"path/filepath"
	"strconv"
	"strings"

	"bashplugin/shared"
)

// confineFlags adds the flags that confine every command.
func confineFlags(set *flag.FlagSet, c *shared.Confine) {
	set.BoolVar(&c.ReadOnly, "read-only", false, "commands may change files in their own TMPDIR only, and below each -writable")
	set.Func("writable", "`directory` or file that commands may change; may be repeated, and implies -read-only", path(&c.ReadOnly, &c.Writable))
	set.BoolVar(&c.Private, "private", false, "commands may read only what bash needs, and below each -readable and -writable")
	set.Func("readable", "`directory` or file that commands may read; may be repeated, and implies -private", path(&c.Private, &c.Readable))
	set.BoolVar(&c.NoNetwork, "no-network", false, "commands have no network")
	set.BoolVar(&c.BestEffort, "best-effort", false, "run commands even where the kernel cannot keep all of these flags")
}

// path returns a function that adds a flag's value to paths and sets implied.
func path(implied *bool, paths *[]string) func(string) error {
	return func(value string) error {
		absolute, err := filepath.Abs(value) // begins where this program runs, not at -dir
		*implied, *paths = true, append(*paths, absolute)
		return err
	}
}

// resourceFlags adds the flags that limit every command.
func resourceFlags(set *flag.FlagSet, r *shared.Resources) {
	set.Func("memory", "how much memory a command may have with all that it starts, as in 2GiB (default no limit)", bytesTo(&r.Memory))
	set.DurationVar(&r.CPU, "cpu", 0, "how much processor time, as in 10m (default no limit)")
	set.IntVar(&r.Processes, "processes", 0, "how many processes at a time (default no limit)")
	set.Func("disk", "how large a file a command may write, as in 1GiB (default no limit)", bytesTo(&r.Disk))
}

// bytesTo returns a function that parses a number of bytes.
func bytesTo(bytes *int64) func(string) error {
	return func(text string) error {
		number, shift := strings.TrimSuffix(text, "iB"), 0
		for i, unit := range []string{"K", "M", "G", "T"} {
			if rest, has := strings.CutSuffix(number, unit); has {
				number, shift = rest, 10*(i+1)
				break
			}
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if *bytes = n << shift; err != nil || n <= 0 || *bytes>>shift != n {
			return errors.New("use a number of bytes, or of KiB, MiB, GiB or TiB, as in 512MiB")
		}
		return nil
	}
}
