package store

import (
	"context"
	"testing"
	"time"
)

// A queue starts with a smaller bucket than before, and finds the values that fit.
func TestRoomOfBucketIsLowered(t *testing.T) {
	dir := t.TempDir()
	for i, room := range []int64{12 << 30, 64 << 20, 1 << 40, 1 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		q, err := Open(ctx, Config{Dir: dir})
		if err != nil {
			t.Fatalf("with %d bytes: %v", room, err)
		}
		b := q.Bucket("ROOM", room, time.Hour)
		if i > 0 {
			if value, _, err := b.Get(ctx, "a"); err != nil || string(value) != "value" {
				t.Errorf("with %d bytes: %q, %v", room, value, err)
			}
		}
		if err := b.Put(ctx, "a", []byte("value")); err != nil {
			t.Errorf("with %d bytes: %v", room, err)
		}
		publish(t, q, one, "event")
		q.Close()
	}
}
