package diagnostics_test

import (
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func TestMain(m *testing.M) { treetest.Main(m) }
