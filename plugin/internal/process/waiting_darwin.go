package process

// Waiting always returns "": macOS does not tell.
func (g *Group) Waiting(string) string { return "" }
