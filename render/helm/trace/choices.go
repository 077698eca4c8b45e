package trace

import "reflect"

// defaulted follows default: the given value, or the other one because it is empty.
func (c *call) defaulted() taint {
	given := c.args[len(c.args)-1]
	if len(c.args) < 2 {
		return given.sh
	}
	given = c.args[1]
	if truth(given.rv) {
		return given.sh
	}
	sh := c.args[0].sh
	sh.cond = join(sh.cond, given.sh.conds()).under(c.origin(given), true)
	return sh
}

func (c *call) coalesced() taint {
	var k *cond
	for _, a := range c.args {
		if truth(a.rv) {
			a.sh.cond = join(a.sh.cond, k)
			return a.sh
		}
		k = join(k, a.sh.conds()).under(c.origin(a), true)
	}
	return taint{cond: k}
}

func (c *call) ternary() taint {
	test := c.args[2]
	sh := c.args[1].sh
	if concrete(test.rv).Kind() == reflect.Bool && concrete(test.rv).Bool() {
		sh = c.args[0].sh
	}
	sh.cond = join(sh.cond, test.sh.conds()).under(c.origin(test), false)
	return sh
}

func (c *call) lookedUp() taint {
	sh := c.mixed()
	return taint{org: &node{kind: Lookup, key: c.name}, cond: sh.cond.under(sh.org, false)}
}
