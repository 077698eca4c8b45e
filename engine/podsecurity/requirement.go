package podsecurity

import (
	"github.com/lintel-bot/lintel/engine/explain"
)

// requirement returns what the Pod Security Standards require of the field that violates a control
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
func (v violation) requirement(ctl control) explain.Requirement {
	gone := []explain.Change{{Remove: true}}
	switch ctl.id {
	case "hostNamespaces", "privileged", "windowsHostProcess", "allowPrivilegeEscalation":
		return explain.Write(false)
	case "runAsNonRoot":
		return explain.Write(true)
	case "runAsUser":
		return explain.Requirement{Words: "a user other than 0, or none", Changes: gone}
	case "seccompProfile_baseline", "seccompProfile_restricted", "appArmorProfile":
		if len(v.path) > 1 && v.path[1] == "annotations" {
			return explain.Requirement{Words: "runtime/default, or localhost/*, or no such annotation",
				Changes: append([]explain.Change{{Value: "runtime/default", Example: true}}, gone...)}
		}
		return explain.Requirement{Words: "RuntimeDefault, or Localhost", Changes: []explain.Change{{Value: "RuntimeDefault", Example: true}}}
	case "procMount", "procMount_restricted":
		return explain.Write("Default")
	case "hostPorts":
		return explain.Requirement{Words: "0, or no host port", Changes: gone}
	case "capabilities_baseline", "capabilities_restricted":
		return v.capabilities(ctl)
	case "hostPathVolumes":
		return explain.Requirement{Words: "no hostPath: a persistentVolumeClaim, a configMap, an emptyDir or another kind of volume"}
	case "restrictedVolumes":
		return explain.Requirement{Words: "a volume of the kind configMap, csi, downwardAPI, emptyDir, ephemeral, " +
			"persistentVolumeClaim, projected or secret"}
	case "sysctls":
		return explain.Requirement{Words: "a safe sysctl, such as net.ipv4.ip_unprivileged_port_start, or none"}
	case "seLinuxOptions":
		if v.path[len(v.path)-1] == "type" {
			return explain.Requirement{Words: "container_t, container_init_t, container_kvm_t, container_engine_t, or no type",
				Changes: []explain.Change{{Value: "container_t", Example: true}}}
		}
		return explain.Requirement{Words: "nothing: the field must not be set", Changes: gone}
	case "hostProbesAndHostLifecycle":
		return explain.Requirement{Words: "no host: the kubelet probes the pod itself", Changes: gone}
	}
	return explain.Requirement{Words: "what the control " + ctl.id + " of the Pod Security Standards allows"}
}

func (v violation) capabilities(ctl control) explain.Requirement {
	if v.path[len(v.path)-1] == "drop" {
		return explain.Requirement{Words: "a list that has ALL", Changes: []explain.Change{{Value: []any{"ALL"}}}}
	}
	words := "no capability besides NET_BIND_SERVICE"
	if ctl.id == "capabilities_baseline" {
		words = "no capability besides AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, MKNOD, NET_BIND_SERVICE, " +
			"SETFCAP, SETGID, SETPCAP, SETUID and SYS_CHROOT"
	}
	return explain.Requirement{Words: words, Changes: []explain.Change{{Remove: true}}}
}
