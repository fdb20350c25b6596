package call

// Check is Resolve for a call without words: problems are all that the environment and config.json make wrong with every call.
func Check(env Environment) (Call, []string) {
	c, problems := Resolve(Flags{}, env)
	if _, _, err := MaxWait(Once{}, env.Getenv); err != nil {
		problems = append(problems, err.Error())
	}
	if _, _, err := MaxJobs(Once{}, env.Getenv); err != nil {
		problems = append(problems, err.Error())
	}
	return c, problems
}
