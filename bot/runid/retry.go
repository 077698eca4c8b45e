package runid

import "time"

// retries are the pauses after which a head that was given up is tried again. After the last it takes a
// person, a push or another event.
func retries() []time.Duration {
	return []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}
}

// Retry returns the pause after which the head of a run is tried again by itself; false for one that is not: a result,
// a run that is not at its end, and one that was given up too often.
func (id ID) Retry() (pause time.Duration, again bool) {
	list := retries()
	if id.State != GaveUp || id.Times > len(list) {
		return 0, false
	}
	return list[id.Times-1], true
}
