package pagetest

import (
	"testing"
	"time"
)

func TestFill(t *testing.T) {
	type inner struct {
		Words  []string
		Within *inner
	}
	type outer struct {
		Kept, Empty string
		Ready       bool
		Number      int
		At          time.Time
		List        []inner
		Map         map[string]map[int]string
		hidden      string
	}
	v := outer{Kept: "kept", List: []inner{{Words: []string{"kept", ""}}}}
	Fill(&v, "x")
	if v.Kept != "kept" || v.Empty != "x" || v.Ready || v.Number != 1 || v.At.IsZero() || v.hidden != "" ||
		v.List[0].Words[0] != "kept" || v.List[0].Words[1] != "x" || v.List[0].Within.Within.Words[0] != "x" ||
		v.Map["x"][1] != "x" {
		t.Errorf("%+v", v)
	}
}
