package sandbox

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestLessGarbageIsLeftWhereMuchMemoryIsInUse(t *testing.T) {
	t.Cleanup(func() { debug.SetGCPercent(100) }) // the next collection paces again, which does no harm
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	paceCollection(1 << 30)
	if got := percent(); got != 200 {
		t.Fatalf("%d percent where little is in use", got)
	}
	held := make([]byte, 512<<20) // never written, so it takes no memory of the machine
	for percent() >= 60 {         // until the test times out
		runtime.GC()
	}
	runtime.KeepAlive(held)
	for percent() != 200 {
		runtime.GC()
	}
}
