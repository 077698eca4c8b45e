package podsecurity

import (
	"slices"
	"strings"
)

// entry is a control by the name that the Pod Security Standards give it, the checks that make it up, and
// what its restricted fields end in, for the pod and for containers
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). The controls are those that the schema of Kyverno's
// policies has: of the host in probes and lifecycle hooks it takes no exclusion.
type entry struct {
	name             string
	ids              []string
	pod, inContainer []string
}

func table() []entry {
	same := func(field string) []string { return []string{"securityContext." + field} }
	seLinux := []string{"securityContext.seLinuxOptions.type", "securityContext.seLinuxOptions.user",
		"securityContext.seLinuxOptions.role"}
	return []entry{
		{"Capabilities", []string{"capabilities_baseline", "capabilities_restricted"}, nil,
			[]string{"securityContext.capabilities.add", "securityContext.capabilities.drop"}},
		{"Seccomp", []string{"seccompProfile_baseline", "seccompProfile_restricted"}, same("seccompProfile.type"),
			same("seccompProfile.type")},
		{"Privileged Containers", []string{"privileged"}, nil, same("privileged")},
		{"Host Ports", []string{"hostPorts"}, nil, []string{"ports[*].hostPort"}},
		{"/proc Mount Type", []string{"procMount", "procMount_restricted"}, nil, same("procMount")},
		{"HostProcess", []string{"windowsHostProcess"}, same("windowsOptions.hostProcess"),
			same("windowsOptions.hostProcess")},
		{"SELinux", []string{"seLinuxOptions"}, seLinux, seLinux},
		{"Host Namespaces", []string{"hostNamespaces"}, []string{"hostNetwork", "hostPID", "hostIPC"}, nil},
		{"HostPath Volumes", []string{"hostPathVolumes"}, []string{"volumes[*].hostPath"}, nil},
		{"Sysctls", []string{"sysctls"}, []string{"securityContext.sysctls[*].name"}, nil},
		{"AppArmor", []string{"appArmorProfile"}, same("appArmorProfile.type"), same("appArmorProfile.type")},
		{"Privilege Escalation", []string{"allowPrivilegeEscalation"}, nil, same("allowPrivilegeEscalation")},
		{"Running as Non-root", []string{"runAsNonRoot"}, same("runAsNonRoot"), same("runAsNonRoot")},
		{"Running as Non-root user", []string{"runAsUser"}, same("runAsUser"), same("runAsUser")},
		{"Volume Types", []string{"restrictedVolumes"}, []string{"volumes[*]."}, nil},
	}
}

// entryOf returns the control of a name.
func entryOf(name string) (entry, bool) {
	for _, e := range table() {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}

// Controls are the names of all controls, as the Pod Security Standards write them.
func Controls() []string {
	var out []string
	for _, e := range table() {
		out = append(out, e.name)
	}
	return out
}

// restricts reports whether a field belongs to the control. An entry of the table that ends with a dot means the fields
// below it.
func (e entry) restricts(field string) bool {
	fits := func(tail string, tails []string) bool {
		return slices.ContainsFunc(tails, func(t string) bool {
			return t == tail || strings.HasSuffix(t, ".") && strings.HasPrefix(tail, t)
		})
	}
	if e.name == "AppArmor" && strings.HasPrefix(field, "metadata.annotations") {
		return true
	}
	if _, tail, ok := strings.Cut(field, "ontainers[*]."); ok && containerField(field) {
		return fits(tail, e.inContainer)
	}
	tail, ok := strings.CutPrefix(field, "spec.")
	return ok && fits(tail, e.pod)
}
