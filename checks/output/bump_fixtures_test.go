package output

import "github.com/lintel-bot/lintel/checks/report"

// bumps returns changes by new versions of a chart and of a base.
func bumps() []report.Bump {
	return []report.Bump{
		{
			Root: "HelmRelease/shop/web",
			Moved: []report.Moved{{Name: "podinfo", URL: "https://charts.example.com", From: report.Version{Ref: "6.5.0"},
				To: report.Version{Ref: "^6.6", Revision: "6.6.2"}, Path: "apps/web.yaml", Line: 12,
				Links: []report.Link{{Text: "source", URL: "https://github.com/stefanprodan/podinfo"}}}},
			Added: []report.Resource{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "new"}},
			Changed: []report.ResourceChange{{Resource: deployment("shop", "web"), LeftOut: 3,
				Diff: "@@ -1,2 +1,2 @@\n-  replicas: 1\n+  replicas: 2\n   selector: {}\n"}},
			Relabeled: 4,
			Images: []report.ImageChange{{Resource: deployment("shop", "web"), Container: "c",
				From: "ghcr.io/acme/web:6.5.0", To: "ghcr.io/acme/web:6.6.2"}, {Resource: deployment("shop", "web"),
				Container: "side", To: "ghcr.io/acme/side:1"}},
			CRDs: []report.CRDChange{{Name: "as.x.io", Says: []string{"version v1beta1 is no longer served"}}},
			Grants: []report.Grant{{Resource: report.Resource{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole",
				Name: "web"}, Rules: []string{"get, list: secrets"}}},
			Values: []report.ValueChange{{Name: "ingress.legacy", Path: "apps/web.yaml", Line: 30, Gone: true}},

			Violations: 2,
		},
		{
			Root: "apps/base", Problem: "it does not render with the new version",
			Moved: []report.Moved{{Name: "github.com/acme/base", URL: "https://github.com/acme/base",
				From: report.Version{Ref: "v1", Revision: "1111111111111111111111111111111111111111"},
				To:   report.Version{Ref: "main", Revision: "2222222222222222222222222222222222222222"},
				Path: "apps/base/kustomization.yaml", Line: 3, Links: []report.Link{{Text: "compare",
					URL: "https://github.com/acme/base/compare/v1...main"}}}},
		},
	}
}

func resolved() []report.Resolved {
	return []report.Resolved{{Name: "github.com/acme/base", Ref: "main",
		Revision: "2222222222222222222222222222222222222222", Path: "apps/base/kustomization.yaml", Line: 3}}
}

// hostileBumps returns bumps with s in every text.
func hostileBumps(s, path string) []report.Bump {
	res := report.Resource{APIVersion: s, Kind: s, Namespace: s, Name: s}
	return []report.Bump{{Root: s, Problem: s, Added: []report.Resource{res}, Removed: []report.Resource{res},
		Moved: []report.Moved{{Name: s, URL: s, From: report.Version{Ref: s, Revision: s},
			To: report.Version{Ref: s, Revision: s}, Path: path, Line: 1,
			Links: []report.Link{{Text: s, URL: s}, {Text: s, URL: "javascript:" + s}}}},
		Changed: []report.ResourceChange{{Resource: res, Diff: s}},
		Images:  []report.ImageChange{{Resource: res, Container: s, From: s, To: s}},
		CRDs:    []report.CRDChange{{Name: s, Says: []string{s}}},
		Grants:  []report.Grant{{Resource: res, Rules: []string{s}}},
		Values:  []report.ValueChange{{Name: s, Path: path, Line: 1, Gone: true, Says: s}},
	}}
}
