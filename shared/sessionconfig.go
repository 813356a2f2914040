package shared

// SessionConfig says what a host on another machine asks for its commands.
type SessionConfig struct {
	Dir     string   // where they run; "": where the plugin decides
	Env     []string // KEY=VALUE, over the plugin's environment
	DropEnv []string // names or path.Match patterns ("*_API_KEY") that commands do not get
	Host    string   // the name in the host's certificate
}
