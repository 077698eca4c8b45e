package forge

import "time"

// retries are the pauses after which a head that was given up is tried again. After the last it takes a
// person, a push or another event.
func retries() []time.Duration {
	return []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}
}

// NextRetry returns when a result that lacks something is looked at again by itself, as many times and after the pauses that
// retries have; first is when there was such a result for the first time. The zero time: no more.
func NextRetry(first, now time.Time) time.Time {
	at := first
	for _, pause := range retries() {
		if at = at.Add(pause); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// Retry returns the pause after which the head of a run is tried again by itself; false for one that is not: a result,
// a run that is not at its end, and one that was given up too often.
func (id RunID) Retry() (pause time.Duration, again bool) {
	list := retries()
	if id.State != GaveUp || id.Times > len(list) {
		return 0, false
	}
	return list[id.Times-1], true
}
