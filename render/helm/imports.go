package helm

import (
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "helm.sh/helm/v4/pkg/chart/common/util"
	_ "helm.sh/helm/v4/pkg/chart/v2/loader"
	_ "helm.sh/helm/v4/pkg/chart/v2/util"
	_ "helm.sh/helm/v4/pkg/engine"
	_ "helm.sh/helm/v4/pkg/ignore"
	_ "helm.sh/helm/v4/pkg/release/v1/util"
)
