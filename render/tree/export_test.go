package tree

// ParseTree is parseTree, for the fuzz target.
var ParseTree = parseTree
