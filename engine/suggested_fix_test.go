package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// What podSecurity and assert ask for, and the value that was tried out.
func TestSuggestedFixMakesRulePass(t *testing.T) {
	const baseline = "podSecurity: {level: baseline, version: v1.30}"
	const restricted = "podSecurity: {level: restricted, version: v1.30}"
	container := func(nonRoot, seccomp, escalation, drop bool) string {
		var parts []string
		for part, has := range map[string]bool{"runAsNonRoot: true": nonRoot, "allowPrivilegeEscalation: false": escalation,
			"seccompProfile: {type: RuntimeDefault}": seccomp, "capabilities: {drop: [ALL]}": drop} {
			if has {
				parts = append(parts, part)
			}
		}
		return "containers: [{name: c, image: i, securityContext: {" + strings.Join(parts, ", ") + "}}]"
	}
	for _, c := range []struct{ name, rule, spec, field, expected, edit string }{
		{"privileged", baseline, "containers: [{name: c, image: i, securityContext: {privileged: true}}]",
			"/spec/containers/0/securityContext/privileged", "false", "= false"},
		{"host network", baseline, "hostNetwork: true, containers: [{name: c, image: i}]", "/spec/hostNetwork", "false",
			"= false"},
		{"host path", baseline, "containers: [{name: c, image: i}], volumes: [{name: v, hostPath: {path: /}}]",
			"/spec/volumes/0/hostPath",
			"no hostPath: a persistentVolumeClaim, a configMap, an emptyDir or another kind of volume", ""},
		{"host port", baseline, "containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 1}]}]",
			"/spec/containers/0/ports/0/hostPort", "0, or no host port", "goes"},
		{"capability", baseline,
			"containers: [{name: c, image: i, securityContext: {capabilities: {add: [CHOWN, NET_ADMIN]}}}]",
			"/spec/containers/0/securityContext/capabilities/add/1", "no capability besides AUDIT_WRITE, CHOWN, " +
				"DAC_OVERRIDE, FOWNER, FSETID, KILL, MKNOD, NET_BIND_SERVICE, SETFCAP, SETGID, SETPCAP, SETUID and SYS_CHROOT",
			"goes"},
		{"sysctl", baseline,
			"securityContext: {sysctls: [{name: kernel.x, value: '1'}]}, containers: [{name: c, image: i}]",
			"/spec/securityContext/sysctls/0/name",
			"a safe sysctl, such as net.ipv4.ip_unprivileged_port_start, or none", ""},
		{"proc mount", baseline, "containers: [{name: c, image: i, securityContext: {procMount: Unmasked}}]",
			"/spec/containers/0/securityContext/procMount", "Default", `= "Default"`},
		{"escalation", restricted, container(true, true, false, true),
			"/spec/containers/0/securityContext/allowPrivilegeEscalation", "false", "= false"},
		{"non root", restricted, container(false, true, true, true),
			"/spec/containers/0/securityContext/runAsNonRoot", "true", "= true"},
		{"seccomp", restricted, container(true, false, true, true),
			"/spec/containers/0/securityContext/seccompProfile/type", "RuntimeDefault, or Localhost", `= "RuntimeDefault"`},
		{"drop", restricted, container(true, true, true, false),
			"/spec/containers/0/securityContext/capabilities/drop", "a list that has ALL", `= ["ALL"]`},
		{"a name that a list lacks", "foreach: [{list: 'request.object.spec.containers', deny: {conditions: {all: [{key: ALL, " +
			"operator: AnyNotIn, value: '{{ element.securityContext.capabilities.drop || `[]` }}'}]}}}]",
			"containers: [{name: c, image: i, securityContext: {capabilities: {drop: [CHOWN]}}}]",
			"/spec/containers/0/securityContext/capabilities/drop", "a list that has ALL", `/1 = "ALL"`},
		{"a field that a mapping lacks", "foreach: [{list: 'request.object.spec.containers', deny: {conditions: {all: [{key: " +
			"livenessProbe, operator: AllNotIn, value: '{{ element.keys(@) }}'}]}}}]", "containers: [{name: c, image: i}]",
			"/spec/containers/0", "a field livenessProbe", `/livenessProbe = "\u003cvalue\u003e"`},
		{"root user", restricted, container(true, true, true, true) + ", securityContext: {runAsUser: 0}",
			"/spec/securityContext/runAsUser", "a user other than 0, or none", "goes"},
		{"volume kind", restricted, container(true, true, true, true) + ", volumes: [{name: v, nfs: {path: /, server: s}}]",
			"/spec/volumes/0/nfs", "a volume of the kind configMap, csi, downwardAPI, emptyDir, ephemeral, " +
				"persistentVolumeClaim, projected or secret", ""},
		{"assert a value", "assert: {object: {spec: {hostNetwork: false}}}", "hostNetwork: true", "/spec/hostNetwork",
			"false", "= false"},
		{"assert what is missing", "assert: {object: {spec: {priorityClassName: high}}}", "x: 1",
			"/spec/priorityClassName", "high", `= "high"`},
		{"assert an expression", "assert: {object: {spec: {(replicas > `1`): true}}}", "replicas: 1", "/spec/replicas",
			"object.spec.(replicas > `1`) to be true", ""},
		{"assert each", "assert: {object: {spec: {'~.(containers)': {imagePullPolicy: Always}}}}",
			"containers: [{name: a, imagePullPolicy: Always}, {name: b, imagePullPolicy: Never}]",
			"/spec/containers/1/imagePullPolicy", "Always", `= "Always"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			by := mustCompile(t, ruleOf("validate: {"+c.rule+"}")).Bind(nil, nil)
			o := object(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {"+c.spec+"}\n")
			found := false
			suggestedFixOf(t, by, o, func(a advised) {
				a.helps(t)
				if a.field != c.field {
					return
				}
				found = true
				edit := ""
				if e := a.fix.Change; e != nil && e.Remove {
					edit = "goes"
				} else if e != nil {
					data, err := json.Marshal(e.Value)
					if err != nil {
						t.Fatal(err)
					}
					edit = strings.TrimSpace(strings.TrimPrefix(e.Field, a.field) + " = " + string(data))
				}
				if a.fix.Requirement != c.expected || edit != c.edit {
					t.Errorf("got  %q, %q\nwant %q, %q", a.fix.Requirement, edit, c.expected, c.edit)
				}
			})
			if !found {
				t.Errorf("%s does not fail", c.field)
			}
		})
	}
}
