package main

import (
	"encoding/json"
	"flag"
	"path/filepath"

	"bashplugin/shared"
)

// confineFlags adds the flags that confine every command.
func confineFlags(set *flag.FlagSet, c *shared.Confine) {
	set.BoolVar(&c.ReadOnly, "read-only", false,
		"commands may change files in their own TMPDIR only, and below each -writable")
	set.Func("writable",
		"`directory` or file that commands may change; may be repeated, and implies -read-only",
		path(&c.ReadOnly, &c.Writable))
	set.BoolVar(&c.Private, "private", false,
		"commands may read only what bash needs, and below each -readable and -writable")
	set.Func("readable",
		"`directory` or file that commands may read; may be repeated, and implies -private",
		path(&c.Private, &c.Readable))
	set.BoolVar(&c.NoNetwork, "no-network", false, "commands have no network")
	set.BoolVar(&c.BestEffort, "best-effort", false,
		"run commands even where the kernel cannot enforce all of these flags")
}

// path returns a function that adds a flag's value to paths and sets implied.
func path(implied *bool, paths *[]string) func(string) error {
	return func(value string) error {
		absolute, err := filepath.Abs(value) // relative to where this program runs, not to -dir
		if err != nil {
			return err
		}
		*implied = true
		*paths = append(*paths, absolute)
		return nil
	}
}

// resourceFlags adds the flags that limit every command.
func resourceFlags(set *flag.FlagSet, r *shared.Resources) {
	set.Func("memory",
		"how much memory a command may have with all that it starts, as in 2GiB (default no limit)",
		sizeOf(r, "Memory"))
	set.DurationVar(&r.CPU, "cpu", 0, "how much processor time a command may use, as in 10m (default no limit)")
	set.IntVar(&r.Processes, "processes", 0, "how many processes a command may have at a time (default no limit)")
	set.Func("disk", "how large a file a command may write, as in 1GiB (default no limit)",
		sizeOf(r, "Disk"))
}

// sizeOf returns a function that sets the limit of a name. The JSON of a Resources says how
// sizes are written.
func sizeOf(r *shared.Resources, limit string) func(string) error {
	return func(text string) error {
		object, _ := json.Marshal(map[string]string{limit: text}) // cannot fail
		return json.Unmarshal(object, r)
	}
}
