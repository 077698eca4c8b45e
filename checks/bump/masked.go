package bump

// Masked returns two versions of an object without what is secret in them.
func Masked(was, now map[string]any) (a, b map[string]any) { return hide(was, now) }
