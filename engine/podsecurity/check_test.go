package podsecurity

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

func object(t testing.TB, text string) admission.Object {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const good = "securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, " +
	"seccompProfile: {type: RuntimeDefault}}"

// podWith is a pod that satisfies the restricted level but for the spec fields given.
func podWith(spec, containers string) string {
	if containers == "" {
		containers = "[{name: a, image: nginx, " + good + "}]"
	}
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: " + containers + "\n" + spec
}

func TestEvaluate(t *testing.T) {
	istio := `[{name: i, image: docker.io/istio/proxyv2:1, securityContext: {capabilities: {add: [NET_ADMIN, NET_RAW]}}}]`
	for name, tt := range map[string]struct {
		level   string
		object  string
		exclude []policy.PodSecurityControl
		fields  []string // none means allowed
		message string
	}{
		"allowed":      {level: "restricted", object: podWith("", "")},
		"spec is null": {level: "baseline", object: "kind: Pod\nspec: null"},
		"privileged denies what restricted does": {
			level: "privileged", object: podWith("  hostIPC: true\n", ""), fields: []string{"/spec/hostIPC"},
			message: `It violates PodSecurity "privileged:latest": (Forbidden reason: host namespaces, ` +
				`field error list: [spec.hostIPC is forbidden, forbidden values found: true])`,
		},
		"host namespace": {
			level: "baseline", object: podWith("  hostIPC: true\n", ""), fields: []string{"/spec/hostIPC"},
			message: `It violates PodSecurity "baseline:latest": (Forbidden reason: host namespaces, ` +
				`field error list: [spec.hostIPC is forbidden, forbidden values found: true])`,
		},
		"missing": {
			level: "restricted", object: podWith("",
				"[{name: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: "+
					"{type: RuntimeDefault}}}]"),
			fields: []string{"/spec/containers/0/securityContext/runAsNonRoot"},
			message: `It violates PodSecurity "restricted:latest": (Forbidden reason: runAsNonRoot != true, ` +
				`field error list: [spec.containers[0].securityContext.runAsNonRoot: Required value])`,
		},
		"deployment": {level: "baseline", object: "kind: Deployment\n" +
			"spec: {template: {spec: {containers: [{name: a, securityContext: {privileged: true}}]}}}",
			fields: []string{"/spec/template/spec/containers/0/securityContext/privileged"},
			message: `It violates PodSecurity "baseline:latest": (Forbidden reason: privileged, field error list: ` +
				`[spec.template.spec.containers[0].securityContext.privileged is forbidden, forbidden values found: true])`},
		"cron job": {level: "baseline", object: "kind: CronJob\n" +
			"spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, ports: [{hostPort: 0}, {hostPort: 80}]}]}}}}}",
			fields: []string{"/spec/jobTemplate/spec/template/spec/containers/0/ports/1/hostPort"},
			message: `It violates PodSecurity "baseline:latest": (Forbidden reason: hostPort, field error list: ` +
				`[spec.jobTemplate.spec.template.spec.containers[0].ports[1].hostPort is forbidden, forbidden values found: 80])`},
		"restricted field of a controller": {level: "baseline", object: "kind: Job\n" +
			"spec: {template: {spec: {hostPID: true}}}",
			exclude: []policy.PodSecurityControl{{ControlName: "Host Namespaces", RestrictedField: "spec.hostPID"}}},
		"sysctl": {level: "baseline", object: podWith("  securityContext: {sysctls: [{name: kernel.shm_rmid_forced, "+
			"value: '1'}, {name: kernel.msgmax, value: '1'}]}\n", ""), fields: []string{"/spec/securityContext/sysctls/1/name"}},
		"selinux": {level: "baseline", object: podWith("  securityContext: {seLinuxOptions: {type: container_t, user: "+
			"u}}\n", ""), fields: []string{"/spec/securityContext/seLinuxOptions/user"}},
		"app armor": {level: "baseline", object: "kind: Pod\n" +
			"metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined, x: 'y'}}\n" +
			"spec: {containers: [{name: a}]}",
			fields: []string{"/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1a"}},
		"probe host": {level: "baseline", object: podWith("", "[{name: a, livenessProbe: {httpGet: {host: x, port: 80}}}]"),
			fields: []string{"/spec/containers/0/livenessProbe/httpGet/host"}},
		"volume": {level: "restricted", object: podWith("  volumes: [{name: v, emptyDir: {}}, {name: w, nfs: {server: "+
			"s, path: /}}]\n", ""), fields: []string{"/spec/volumes/1/nfs"}},
		"capability": {level: "baseline", object: podWith("", "[{name: a, securityContext: {capabilities: {add: [CHOWN, "+
			"NET_RAW, SYS_ADMIN]}}}]"), fields: []string{"/spec/containers/0/securityContext/capabilities/add/1",
			"/spec/containers/0/securityContext/capabilities/add/2"}},

		"excluded": {level: "baseline", object: podWith("  hostIPC: true\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Host Namespaces"}}},
		"volume types by values": {level: "restricted",
			object: podWith("  volumes: [{name: w, nfs: {server: s, path: /}}]\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Volume Types", RestrictedField: "spec.volumes[*].nfs",
				Values: []string{"neither"}}}},
		"volume types by values, another source": {level: "restricted",
			object: podWith("  volumes: [{name: w, nfs: {server: s, path: /}}, "+
				"{name: v, rbd: {image: i, monitors: [m]}}]\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Volume Types", RestrictedField: "spec.volumes[*].nfs",
				Values: []string{"server", "path"}}},
			fields: []string{"/spec/volumes/1/rbd"},
			message: `It violates PodSecurity "restricted:latest": (Forbidden reason: restricted volume types, ` +
				`field error list: [spec.volumes[1].rbd: Forbidden])`},
		"host path by values": {level: "baseline",
			object: podWith("  volumes: [{name: a, hostPath: {path: /var/log/x}}]\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "HostPath Volumes", RestrictedField: "spec.volumes[*].hostPath",
				Values: []string{"/var/log/*"}}}},
		"host path by other values": {level: "baseline",
			object:  podWith("  volumes: [{name: a, hostPath: {path: /var/log/x}}, {name: b, hostPath: {path: /etc}}]\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "HostPath Volumes", Values: []string{"/var/log/*", "path"}}},
			fields:  []string{"/spec/volumes/1/hostPath"},
			message: `It violates PodSecurity "baseline:latest": (Forbidden reason: hostPath volumes, ` +
				`field error list: [spec.volumes[1].hostPath is forbidden, forbidden values found: /etc])`},
		"missing has no value": {level: "restricted", object: podWith("", "[{name: a, image: x, "+
			strings.Replace(good, "runAsNonRoot: true, ", "", 1)+"}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Running as Non-root", Images: []string{"x"}, Values: []string{"other"}}}},
		"escalation that is not set": {level: "restricted", object: podWith("", "[{name: a, image: x, "+
			strings.Replace(good, "allowPrivilegeEscalation: false, ", "", 1)+"}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Privilege Escalation", Images: []string{"x"}, Values: []string{"true"}}},
			fields:  []string{"/spec/containers/0/securityContext/allowPrivilegeEscalation"}},
		"by name alone, two containers": {level: "restricted", object: podWith("",
			"[{name: a, "+strings.Replace(good, "runAsNonRoot: true, ", "", 1)+"}, {name: b, "+
				strings.Replace(good, "runAsNonRoot: true, ", "", 1)+"}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Running as Non-root"}},
			fields:  []string{"/spec/containers/1/securityContext/runAsNonRoot"}},
		"all profiles that are wrong": {level: "restricted", object: podWith("  securityContext: {seccompProfile: {type: "+
			"Unconfined}}\n", "[{name: a, "+strings.Replace(good, "seccompProfile: {type: RuntimeDefault}", "runAsUser: 1", 1)+
			"}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Seccomp", RestrictedField: "spec.securityContext.seccompProfile.type",
				Values: []string{"Unconfined"}}}},
		"other excluded": {level: "baseline", object: podWith("  hostIPC: true\n  hostPID: true\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Host Namespaces", RestrictedField: "spec.hostPID", Values: []string{"true"}}},
			fields:  []string{"/spec/hostIPC"}},
		"by name alone": {
			level: "restricted", object: podWith("",
				"[{name: a, securityContext: {runAsNonRoot: false, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, "+
					"seccompProfile: {type: RuntimeDefault}}}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Running as Non-root"}},
		},
		"container needs images": {level: "baseline",
			object:  podWith("", "[{name: a, image: nginx, securityContext: {capabilities: {add: [NET_RAW]}}}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Capabilities", Images: []string{"redis*"}}},
			fields:  []string{"/spec/containers/0/securityContext/capabilities/add/0"}},
		"image": {level: "baseline",
			object:  podWith("", "[{name: a, image: nginx, securityContext: {capabilities: {add: [NET_RAW]}}}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Capabilities", Images: []string{"redis*", "nginx*"}}}},
		"init container": {level: "baseline", object: podWith("  initContainers: "+istio+"\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Capabilities", Images: []string{"*/istio/proxyv2*"},
				RestrictedField: "spec.initContainers[*].securityContext.capabilities.add",
				Values:          []string{"NET_ADMIN", "NET_RAW"}}}},
		"not as container": {level: "baseline", object: podWith("", istio),
			exclude: []policy.PodSecurityControl{{ControlName: "Capabilities", Images: []string{"*/istio/proxyv2*"},
				RestrictedField: "spec.initContainers[*].securityContext.capabilities.add",
				Values:          []string{"NET_ADMIN", "NET_RAW"}}},
			fields: []string{"/spec/containers/0/securityContext/capabilities/add/0",
				"/spec/containers/0/securityContext/capabilities/add/1"}},
		"value too many": {level: "baseline", object: podWith("  initContainers: "+istio+"\n", ""),
			exclude: []policy.PodSecurityControl{{ControlName: "Capabilities", Images: []string{"*"},
				RestrictedField: "spec.initContainers[*].securityContext.capabilities.add", Values: []string{"NET_ADMIN"}}},
			fields: []string{"/spec/initContainers/0/securityContext/capabilities/add/0",
				"/spec/initContainers/0/securityContext/capabilities/add/1"}},
		"explicit and implicit": {level: "restricted", object: podWith("  initContainers: [{name: i, image: x/istio, "+
			strings.Replace(good, "runAsNonRoot: true", "runAsNonRoot: false", 1)+"}]\n",
			"[{name: a, "+strings.Replace(good, "runAsNonRoot: true, ", "", 1)+"}]"),
			exclude: []policy.PodSecurityControl{{ControlName: "Running as Non-root", Images: []string{"*/istio"},
				RestrictedField: "spec.initContainers[*].securityContext.runAsNonRoot", Values: []string{"false"}}},
			fields: []string{"/spec/containers/0/securityContext/runAsNonRoot"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fromException := range []bool{false, true} {
				own, extra := tt.exclude, []policy.PodSecurityControl(nil)
				if fromException {
					own, extra = nil, tt.exclude
				}
				c, err := Compile(tt.level, "latest", own)
				if err != nil {
					t.Fatal(err)
				}
				o := object(t, tt.object)
				before, _ := json.Marshal(o)
				got := c.Evaluate(o, extra)
				if got.Allowed != (len(tt.fields) == 0) || got.Err != nil {
					t.Fatalf("%+v", got)
				}
				if diff := cmp.Diff(tt.fields, got.Fields); diff != "" {
					t.Errorf("%s\n%s", got.Message, diff)
				}
				if tt.message != "" && got.Message != tt.message {
					t.Errorf("got  %s\nwant %s", got.Message, tt.message)
				}
				if after, _ := json.Marshal(o); string(after) != string(before) {
					t.Error("the object was changed")
				}
			}
		})
	}
}

func TestVersions(t *testing.T) {
	o := object(t, podWith("", "[{name: a, livenessProbe: {httpGet: {host: x, port: 80}}}]"))
	for version, allowed := range map[string]bool{"v1.33": true, "1.33": true, "v1.34": false, "latest": false, "": false,
		"v1.99": false} {
		c, err := Compile("baseline", version, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Evaluate(o, nil); got.Allowed != allowed {
			t.Errorf("%q: %+v", version, got)
		}
	}
}

// Kubernetes 1.37 lets two sysctls more through. Kyverno does not know that version of the standards yet.
func TestLatestIsWhatKyvernoKnows(t *testing.T) {
	o := object(t, podWith("  securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat, value: '1'}]}\n", ""))
	for version, allowed := range map[string]bool{"latest": false, "": false, "v1.36": false, "v1.37": true} {
		c, err := Compile("baseline", version, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Evaluate(o, nil); got.Allowed != allowed {
			t.Errorf("%q: %+v", version, got)
		}
	}
}

// Kubernetes 1.35 lets root, any procMount and a missing runAsNonRoot through in a user namespace of its own. Kyverno does
// not.
func TestUserNamespacesRelaxNothing(t *testing.T) {
	for level, o := range map[string]string{
		"baseline": podWith("  hostUsers: false\n", "[{name: a, securityContext: {procMount: Unmasked}}]"),
		"restricted": podWith("  hostUsers: false\n", "[{name: a, "+strings.Replace(good, "runAsNonRoot: true",
			"runAsUser: 0", 1)+"}]"),
	} {
		c, err := Compile(level, "latest", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Evaluate(object(t, o), nil); got.Allowed || strings.Count(got.Message, "reason: procMount") > 1 {
			t.Errorf("%s: %+v", level, got)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, tt := range []struct {
		level, version string
		exclude        policy.PodSecurityControl
		field          string
	}{
		{"strict", "latest", policy.PodSecurityControl{ControlName: "Seccomp"}, "level"},
		{"baseline", "newest", policy.PodSecurityControl{ControlName: "Seccomp"}, "version"},
		{"baseline", "latest", policy.PodSecurityControl{ControlName: "seccomp"}, "controlName"},
		// one of the standards, which the schema of Kyverno's policies does not have
		{"baseline", "latest", policy.PodSecurityControl{ControlName: "Host Probes / Lifecycle Hooks"}, "controlName"},
		{"baseline", "latest", policy.PodSecurityControl{ControlName: "Sysctls", RestrictedField: "spec.hostPID"}, "restrictedField"},
		{"baseline", "latest", policy.PodSecurityControl{ControlName: "Seccomp",
			RestrictedField: "spec.containers[*].securityContext.seccompProfile.type"}, "images"},
		{"baseline", "latest", policy.PodSecurityControl{ControlName: "Host Namespaces", RestrictedField: "spec.hostPID",
			Images: []string{"*"}}, "images"},
	} {
		_, err := Compile(tt.level, tt.version, []policy.PodSecurityControl{tt.exclude})
		var invalid *jsonpointer.Error
		if !errors.As(err, &invalid) || !strings.HasSuffix(invalid.Pointer, "/"+tt.field) {
			t.Errorf("%+v: got %v, want an error of %s", tt, err, tt.field)
		}
	}
}

// TestUnreadable holds that nothing passes that cannot be read: Kyverno ends with an error, too.
func TestUnreadable(t *testing.T) {
	for _, level := range []string{"privileged", "baseline", "restricted"} {
		c, err := Compile(level, "latest", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"kind: Pod\nspec: {containers: [{securityContext: {privileged: maybe}}]}",
			"kind: Pod\nspec: [{hostPID: true}]",
			"kind: Pod\nspec: hostPID",
			"kind: Pod\nspec: 1",
			"kind: Pod\nspec: {containers: {a: {securityContext: {privileged: true}}}}",
			"kind: Pod\nspec: {containers: [text]}",
			"kind: Pod\nspec: {hostPID: yes please}",
			"kind: Pod\nspec: {volumes: {a: {hostPath: {path: /}}}}",
			"kind: Pod\nspec: {securityContext: [{sysctls: []}]}",
			"kind: Pod\nmetadata: [a]\nspec: {}",
			"kind: Pod\nmetadata: {annotations: [a]}\nspec: {}",
			"kind: Pod\nmetadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: 1}}\nspec: {}",
			"kind: Deployment\nspec: [a]",
			"kind: Deployment\nspec: {template: [{spec: {hostPID: true}}]}",
			"kind: Deployment\nspec: {template: {spec: [{hostPID: true}]}}",
			"kind: Deployment\nspec: {template: {metadata: {annotations: text}}}",
			"kind: CronJob\nspec: {jobTemplate: [{spec: {template: {spec: {hostPID: true}}}}]}",
			"kind: CronJob\nspec: {jobTemplate: {spec: [{template: {spec: {hostPID: true}}}]}}",
			"kind: CronJob\nspec: {jobTemplate: {spec: {template: text}}}",
			"kind: ConfigMap\ndata: {}",
			"kind: PodTemplate\ntemplate: {spec: {hostPID: true}}",
			"kind: Rollout\nspec: {template: {spec: {}}}",
			"kind: [Pod]\nspec: {}",
			"spec: {}",
		} {
			got := c.Evaluate(object(t, text), nil)
			if got.Allowed || got.Err == nil {
				t.Errorf("%s, %s: %+v", level, text, got)
			}
		}
	}
}

// TestParallel holds that a check can be shared.
func TestParallel(t *testing.T) {
	c, err := Compile("restricted", "latest", []policy.PodSecurityControl{{ControlName: "Seccomp"}})
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, podWith("  hostPID: true\n", "[{name: a}]"))
	want := c.Evaluate(o, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if diff := cmp.Diff(want, c.Evaluate(o, []policy.PodSecurityControl{})); diff != "" {
					t.Error(diff)
					return
				}
			}
		})
	}
	wg.Wait()
}

// FuzzEvaluate holds for every pod that parses: what the checks forbid has a field, and excluding all
// controls for all images and the pod never makes a message without fields.
func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{podWith("  hostIPC: true\n", ""), podWith("", "[{name: a}]"),
		podWith("  volumes: [{name: x}]\n  os: {name: windows}\n", "[{}]"),
		podWith("  hostUsers: false\n", "[{securityContext: {procMount: Unmasked, runAsUser: 0}}]")} {
		data, err := yaml.YAMLToJSON([]byte(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	c, err := Compile("restricted", "latest", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o map[string]any
		if utiljson.Unmarshal(data, &o) != nil {
			return
		}
		got := c.Evaluate(o, []policy.PodSecurityControl{{ControlName: "Seccomp", Images: []string{"*"}}})
		if got.Err == nil && got.Allowed != (len(got.Fields) == 0) {
			t.Errorf("%+v", got)
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	c, err := Compile("restricted", "latest", nil)
	if err != nil {
		b.Fatal(err)
	}
	o := object(b, podWith("", ""))
	b.ReportAllocs()
	for b.Loop() {
		c.Evaluate(o, nil)
	}
}
