package helm

import (
	"reflect"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
)

func TestCopiesAreThoseOfSprig(t *testing.T) {
	sprigs := sprig.TxtFuncMap()["mustDeepCopy"].(func(any) (any, error))
	type files map[string][]byte
	var none map[string]any
	var empty []any
	for _, v := range []any{true, "a", 1, int64(2), 2.5, none, empty, []any{}, map[string]any{}, common.Values{},
		common.Values(nil), []string{"a"}, []int{1}, map[string]string{"a": "b"}, uint8(3), []byte("a"), []byte(nil), []byte{}, files{"a": []byte("b"), "c": nil}, files(nil),
		map[string]any{"a": nil, "b": none, "c": empty, "d": []any{nil, []any{}, map[string]any{"e": common.Values{"f": []string{"g"}}}}},
	} {
		ours, err := copied(v, sprigs)
		want, failure := sprigs(v)
		if !reflect.DeepEqual(ours, want) || (err == nil) != (failure == nil) {
			t.Errorf("the copy of %#v is %#v (%v), and sprig's is %#v (%v)", v, ours, err, want, failure)
		}
	}
	inner := map[string]any{"a": []any{1}}
	made, _ := copied(inner, sprigs)
	if made.(map[string]any)["a"].([]any)[0] = 2; inner["a"].([]any)[0] != 1 {
		t.Error("a change of the copy changes the value")
	}
}
