package main

import (
	"flag"
	"path/filepath"

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
