package podsecurity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// find finds the fields of a pod that violate a control which pod-security-admission found violated. The allowed values
// depend on the version and are not repeated here: the check is run for each element separately.
func find(ctl control, pod *corev1.Pod) []violation {
	switch ctl.id {
	case "hostNamespaces":
		return hostNamespaces(pod)
	case "hostPathVolumes", "restrictedVolumes":
		return volumes(ctl, pod)
	case "sysctls":
		return sysctls(ctl, pod)
	case "appArmorProfile":
		return appArmor(ctl, pod)
	case "seccompProfile_baseline", "seccompProfile_restricted":
		return seccomp(ctl, pod)
	case "runAsNonRoot":
		return runAsNonRoot(pod)
	}
	var out []violation
	for _, sc := range contextsOf(pod) {
		out = append(out, inContext(ctl, sc)...)
	}
	for _, c := range containersOf(pod) {
		out = append(out, inContainer(ctl, c)...)
	}
	return out
}

func bad(p path, value any) violation {
	return violation{path: p, shown: value, values: []string{fmt.Sprint(value)}}
}

func missing(p path) violation { return violation{path: p, missing: true} }

// breaks runs the check for a pod with only one field.
func (c control) breaks(annotations map[string]string, spec corev1.PodSpec) bool {
	return !c.allow(&metav1.ObjectMeta{Annotations: annotations}, &spec).Allowed
}

func hostNamespaces(pod *corev1.Pod) []violation {
	var out []violation
	for _, f := range []struct {
		name string
		on   bool
	}{{"hostNetwork", pod.Spec.HostNetwork}, {"hostPID", pod.Spec.HostPID}, {"hostIPC", pod.Spec.HostIPC}} {
		if f.on {
			out = append(out, bad(path{"spec", f.name}, true))
		}
	}
	return out
}

// volumes finds volumes by their sources. If hostPaths are forbidden, Kyverno compares their paths with the values of
// an exclusion; for other sources it has no values.
func volumes(ctl control, pod *corev1.Pod) []violation {
	var out []violation
	for i, volume := range pod.Spec.Volumes {
		if !ctl.breaks(nil, corev1.PodSpec{Volumes: []corev1.Volume{volume}}) {
			continue
		}
		at := path{"spec", "volumes", i}
		if ctl.id == "hostPathVolumes" {
			out = append(out, bad(append(at, "hostPath"), volume.HostPath.Path))
			continue
		}
		var fields map[string]any
		if data, err := json.Marshal(volume); err == nil {
			_ = json.Unmarshal(data, &fields) // what was just written can be read
		}
		delete(fields, "name")
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			out = append(out, violation{path: append(slices.Clone(at), name)})
		}
		if len(fields) == 0 {
			out = append(out, violation{path: at})
		}
	}
	return out
}

func sysctls(ctl control, pod *corev1.Pod) []violation {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	var out []violation
	for i, s := range pod.Spec.SecurityContext.Sysctls {
		if ctl.breaks(nil, corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{s}}}) {
			out = append(out, bad(path{"spec", "securityContext", "sysctls", i, "name"}, s.Name))
		}
	}
	return out
}

func appArmor(ctl control, pod *corev1.Pod) []violation {
	var out []violation
	for _, sc := range contextsOf(pod) {
		if p := sc.AppArmorProfile; p != nil && p.Type != corev1.AppArmorProfileTypeRuntimeDefault &&
			p.Type != corev1.AppArmorProfileTypeLocalhost {
			out = append(out, bad(sc.path("appArmorProfile", "type"), string(p.Type)))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if ctl.breaks(map[string]string{k: pod.Annotations[k]}, corev1.PodSpec{}) {
			out = append(out, bad(path{"metadata", "annotations", k}, pod.Annotations[k]))
		}
	}
	return out
}

func seccomp(ctl control, pod *corev1.Pod) []violation {
	var out []violation
	podSet := false
	for _, sc := range contextsOf(pod) {
		at := sc.path("seccompProfile", "type")
		switch p := sc.SeccompProfile; {
		case p == nil:
			if !sc.isPod && !podSet && ctl.id == "seccompProfile_restricted" {
				out = append(out, missing(at))
			}
		case p.Type != corev1.SeccompProfileTypeRuntimeDefault && p.Type != corev1.SeccompProfileTypeLocalhost:
			out = append(out, bad(at, string(p.Type)))
		default:
			podSet = podSet || sc.isPod
		}
	}
	// Before 1.19 the profiles were annotations.
	for _, k := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if !strings.Contains(k, "seccomp.security.alpha.kubernetes.io/") {
			continue
		}
		_, name, _ := strings.Cut(k, "/")
		if ctl.breaks(map[string]string{k: pod.Annotations[k]}, corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: name}},
		}) {
			out = append(out, bad(path{"metadata", "annotations", k}, pod.Annotations[k]))
		}
	}
	return out
}

func runAsNonRoot(pod *corev1.Pod) []violation {
	var out []violation
	podSet := false
	for _, sc := range contextsOf(pod) {
		at := sc.path("runAsNonRoot")
		switch set := sc.RunAsNonRoot; {
		case set == nil:
			if !sc.isPod && !podSet {
				out = append(out, missing(at))
			}
		case !*set:
			out = append(out, bad(at, false))
		default:
			podSet = podSet || sc.isPod
		}
	}
	return out
}

// inContext finds the violations of controls that a security context violates by itself.
func inContext(ctl control, sc context) (out []violation) {
	switch ctl.id {
	case "runAsUser":
		if sc.RunAsUser != nil && *sc.RunAsUser == 0 {
			return []violation{bad(sc.path("runAsUser"), 0)}
		}
	case "windowsHostProcess":
		if o := sc.WindowsOptions; o != nil && o.HostProcess != nil && *o.HostProcess {
			return []violation{bad(sc.path("windowsOptions", "hostProcess"), true)}
		}
	case "seLinuxOptions":
		o := sc.SELinuxOptions
		if o == nil {
			return nil
		}
		for _, f := range []struct {
			name, value string
			only        corev1.SELinuxOptions
		}{
			{"type", o.Type, corev1.SELinuxOptions{Type: o.Type}},
			{"user", o.User, corev1.SELinuxOptions{User: o.User}},
			{"role", o.Role, corev1.SELinuxOptions{Role: o.Role}},
		} {
			if ctl.breaks(nil, corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{SELinuxOptions: &f.only}}) {
				out = append(out, bad(sc.path("seLinuxOptions", f.name), f.value))
			}
		}
	}
	return out
}
