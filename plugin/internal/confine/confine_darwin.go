package confine

func kernel() system { return system{} }

// Restrict does nothing: NewPlan refuses to confine a command.
func (p Plan) Restrict(string, string, string) error { return nil }
