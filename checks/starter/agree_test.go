package starter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Both kinds of a policy judge Pods alike, whatever is set in them; of the Pod Security Standards one of them asks
// Kubernetes' own code.
func TestKindsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 300
	var docs, names []string
	for i := range n {
		pod, name := randomPod(r), fmt.Sprintf("pod-%d", i)
		pod["metadata"].(map[string]any)["name"] = name
		data, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		docs, names = append(docs, string(data)), append(names, name)
	}
	verdicts := func(p Policy) map[string]string {
		row := fmt.Sprintf("  - {policy: %s, kind: Pod, resources: [%s], result: pass, ", p.Name, strings.Join(names, ", "))
		test := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\npolicies: [" + p.Name + ".yaml]\nresources: [resources.yaml]\nresults:\n"
		if strings.Contains(string(p.Files[0].Data), "kind: ValidatingPolicy") {
			test += row + "isValidatingPolicy: true}\n"
		} else {
			for line := range strings.Lines(string(p.Files[0].Data)) {
				if rule, ok := strings.CutPrefix(line, "    - name: "); ok {
					test += row + "rule: " + strings.TrimSpace(rule) + "}\n"
				}
			}
		}
		p.Files = []File{p.Files[0], {p.Files[1].Path, []byte(test)}, {p.Files[2].Path, []byte(strings.Join(docs, "\n---\n"))}}
		of := map[string]string{}
		for _, row := range run(t, p).Rows {
			if of[row.Resource.Name] != "fail" {
				of[row.Resource.Name] = string(row.Actual)
			}
		}
		return of
	}
	other := policies(t, ValidatingPolicy, Audit)
	for i, p := range policies(t, ClusterPolicy, Audit) {
		a, b := verdicts(p), verdicts(other[i])
		counts := map[string]int{}
		for j, name := range names {
			counts[a[name]]++
			if a[name] != b[name] {
				t.Errorf("%s: %s is %q by a ClusterPolicy, %q by a ValidatingPolicy", p.Name, docs[j], a[name], b[name])
			}
		}
		if p.Name != "answering-probes" && (counts["pass"] == 0 || counts["fail"] == 0) { // that is not about Pods
			t.Errorf("%s: %v", p.Name, counts)
		}
	}
}

// randomPod is a Pod with few fields set, most of which bear on security.
func randomPod(r *rand.Rand) map[string]any {
	some := func(list ...any) any { return list[r.IntN(len(list))] }
	seldom := func(m map[string]any, key string, list ...any) {
		if r.IntN(8) == 0 {
			m[key] = some(list...)
		}
	}
	often := func(m map[string]any, key string, list ...any) {
		if r.IntN(8) > 0 {
			m[key] = some(list...)
		}
	}
	profile := func() any {
		return some(map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "Unconfined"})
	}
	selinux := func() any {
		return some(map[string]any{"type": "container_t"}, map[string]any{"type": "spc_t"}, map[string]any{"user": "u"}, map[string]any{"role": ""})
	}
	container := func(name string) any {
		sc := map[string]any{}
		often(sc, "allowPrivilegeEscalation", false, false, false, true)
		seldom(sc, "privileged", true, false)
		often(sc, "capabilities", map[string]any{"drop": []any{"ALL"}}, map[string]any{"drop": []any{"ALL"}, "add": []any{"NET_BIND_SERVICE"}},
			map[string]any{"drop": []any{"ALL"}}, map[string]any{"add": []any{"SYS_ADMIN"}}, map[string]any{"add": []any{"CHOWN"}})
		seldom(sc, "runAsNonRoot", true, false)
		seldom(sc, "runAsUser", 0, 1000)
		seldom(sc, "procMount", "Default", "Unmasked")
		seldom(sc, "seccompProfile", profile())
		seldom(sc, "appArmorProfile", profile())
		seldom(sc, "seLinuxOptions", selinux())
		seldom(sc, "windowsOptions", map[string]any{"hostProcess": true}, map[string]any{"hostProcess": false})
		c := map[string]any{"name": name, "image": some("a:1", "a:1", "a:1", "a", "a:latest", "r:5000/a", "r:5000/a:1", "r/a@sha256:0", "a:latest@sha256:0")}
		often(c, "securityContext", sc)
		seldom(c, "ports", []any{map[string]any{"containerPort": 80, "hostPort": 80}}, []any{map[string]any{"containerPort": 80}})
		handler := some(map[string]any{"httpGet": map[string]any{"host": "h", "port": 80}}, map[string]any{"httpGet": map[string]any{"port": 80}},
			map[string]any{"tcpSocket": map[string]any{"host": "h", "port": 80}})
		seldom(c, "readinessProbe", handler)
		seldom(c, "lifecycle", map[string]any{"postStart": handler}, map[string]any{"preStop": handler})
		often(c, "resources", map[string]any{"requests": map[string]any{"cpu": "1"}, "limits": map[string]any{"memory": "1Gi"}},
			map[string]any{"limits": map[string]any{"memory": "1Gi"}}, map[string]any{"requests": map[string]any{"cpu": "1"}}, map[string]any{})
		return c
	}
	sc, spec, meta := map[string]any{}, map[string]any{"containers": []any{container("a")}}, map[string]any{"namespace": some("a", "default")}
	often(sc, "runAsNonRoot", true, true, true, false)
	often(sc, "seccompProfile", profile())
	seldom(sc, "runAsUser", 0, 1000)
	seldom(sc, "appArmorProfile", profile())
	seldom(sc, "seLinuxOptions", selinux())
	seldom(sc, "sysctls", []any{map[string]any{"name": "net.ipv4.tcp_rmem", "value": "1"}}, []any{map[string]any{"name": "kernel.msgmax", "value": "1"}})
	seldom(sc, "windowsOptions", map[string]any{"hostProcess": true})
	often(spec, "securityContext", sc)
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		seldom(spec, key, false, false, true)
	}
	seldom(spec, "hostUsers", false, true)
	seldom(spec, "os", map[string]any{"name": "windows"}, map[string]any{"name": "linux"})
	seldom(spec, "initContainers", []any{container("i")}, []any{})
	seldom(spec, "ephemeralContainers", []any{container("e")})
	if name, _ := spec["os"].(map[string]any); name["name"] == "windows" {
		plain(spec)
	}
	seldom(spec, "volumes", []any{map[string]any{"name": "v", "hostPath": map[string]any{"path": "/"}}}, []any{map[string]any{"name": "v",
		"emptyDir": map[string]any{}}}, []any{map[string]any{"name": "v", "nfs": map[string]any{"server": "a", "path": "/"}}}, []any{})
	const annotation = "container.apparmor.security.beta.kubernetes.io/a"
	seldom(meta, "annotations", map[string]any{annotation: "unconfined"}, map[string]any{annotation: "localhost/a"}, map[string]any{"a": "b"})
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
}

// plain takes from the spec of a Pod what the API server refuses for Windows
// (https://kubernetes.io/docs/concepts/windows/intro/#compatibility-v1-pod-spec-containers-securitycontext).
func plain(spec map[string]any) {
	unset := func(of any) {
		sc, _ := of.(map[string]any)["securityContext"].(map[string]any)
		for _, key := range []string{"allowPrivilegeEscalation", "capabilities", "privileged", "procMount", "runAsUser", "seLinuxOptions",
			"seccompProfile", "appArmorProfile", "sysctls"} {
			delete(sc, key)
		}
	}
	unset(spec)
	for _, key := range []string{"containers", "initContainers", "ephemeralContainers"} {
		list, _ := spec[key].([]any)
		for _, c := range list {
			unset(c)
		}
	}
}
