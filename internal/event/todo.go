package event

// todos reads the list that the tool "todowrite" has kept. Any other value is no list.
func (d *decoder) todos() bool {
	d.part.todo, d.part.hasTodo = Todo{}, false
	if d.peek() != '[' {
		return d.skip()
	}
	d.part.hasTodo = true
	return d.array(d.oneTodo)
}

// oneTodo counts one entry.
func (d *decoder) oneTodo() bool {
	t := &d.part.todo
	var status, content string
	ok := d.in(func(key string) (ok bool) {
		switch {
		case key == "status":
			status, ok = d.str(wordLimit, "")
		case key == "content" && t.Active == "":
			content, ok = d.str(lineLimit, "")
		default:
			return d.skip()
		}
		return ok
	})
	switch status {
	case "":
		return ok // no entry
	case "cancelled":
		return ok
	case "completed":
		t.Done++
	case "in_progress":
		if t.Active == "" {
			t.Active = oneLine(content)
		}
	}
	t.Total++
	return ok
}
