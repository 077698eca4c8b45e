package gitops

import (
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

func TestMain(m *testing.M) { treetest.Main(m) }
