package jmespath

// whole is the root that says the data as a whole is read.
const whole = "@"

// findRoots collects the fields that are read of the data itself rather than of something within it.
func findRoots(root *node) []string {
	found := map[string]bool{}
	collectRoots(root, found)
	return sortedKeys(found)
}

// collectRoots visits the nodes whose current value is the data.
func collectRoots(n *node, found map[string]bool) {
	switch n.op {
	case opCurrent, opIndex, opSlice:
		found[whole] = true
	case opField:
		found[n.name] = true
	case opSub, opPipe:
		if n.kids[0].op == opCurrent { // @.field and @ | field read only the field
			collectRoots(n.kids[1], found)
			return
		}
		collectRoots(n.kids[0], found)
	case opProject, opFilter, opValues, opFlatten:
		collectRoots(n.kids[0], found)
	case opExpref:
		// Evaluated on elements of another argument.
	default:
		for _, kid := range n.kids {
			collectRoots(kid, found)
		}
	}
}
