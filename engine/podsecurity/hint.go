package podsecurity

import (
	"github.com/lintel-bot/lintel/engine/hint"
)

// hint is what the Pod Security Standards ask of the field that breaks a control
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
func (v violation) hint(ctl control) hint.Hint {
	gone := []hint.Edit{{Remove: true}}
	switch ctl.id {
	case "hostNamespaces", "privileged", "windowsHostProcess", "allowPrivilegeEscalation":
		return hint.Write(false)
	case "runAsNonRoot":
		return hint.Write(true)
	case "runAsUser":
		return hint.Hint{Words: "a user other than 0, or none", Edits: gone}
	case "seccompProfile_baseline", "seccompProfile_restricted", "appArmorProfile":
		if len(v.path) > 1 && v.path[1] == "annotations" {
			return hint.Hint{Words: "runtime/default, or localhost/*, or no such annotation",
				Edits: append([]hint.Edit{{Value: "runtime/default", Example: true}}, gone...)}
		}
		return hint.Hint{Words: "RuntimeDefault, or Localhost", Edits: []hint.Edit{{Value: "RuntimeDefault", Example: true}}}
	case "procMount", "procMount_restricted":
		return hint.Write("Default")
	case "hostPorts":
		return hint.Hint{Words: "0, or no host port", Edits: gone}
	case "capabilities_baseline", "capabilities_restricted":
		return v.capabilities(ctl)
	case "hostPathVolumes":
		return hint.Hint{Words: "no hostPath: a persistentVolumeClaim, a configMap, an emptyDir or another kind of volume"}
	case "restrictedVolumes":
		return hint.Hint{Words: "a volume of the kind configMap, csi, downwardAPI, emptyDir, ephemeral, " +
			"persistentVolumeClaim, projected or secret"}
	case "sysctls":
		return hint.Hint{Words: "a sysctl that Kubernetes calls safe, such as net.ipv4.ip_unprivileged_port_start, or none"}
	case "seLinuxOptions":
		if v.path[len(v.path)-1] == "type" {
			return hint.Hint{Words: "container_t, container_init_t, container_kvm_t, container_engine_t, or no type",
				Edits: []hint.Edit{{Value: "container_t", Example: true}}}
		}
		return hint.Hint{Words: "nothing: the field must not be set", Edits: gone}
	case "hostProbesAndHostLifecycle":
		return hint.Hint{Words: "no host: the kubelet asks the pod itself", Edits: gone}
	}
	return hint.Hint{Words: "what the control " + ctl.id + " of the Pod Security Standards allows"}
}

func (v violation) capabilities(ctl control) hint.Hint {
	if v.path[len(v.path)-1] == "drop" {
		return hint.Hint{Words: "a list that has ALL", Edits: []hint.Edit{{Value: []any{"ALL"}}}}
	}
	words := "no capability besides NET_BIND_SERVICE"
	if ctl.id == "capabilities_baseline" {
		words = "no capability besides AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, MKNOD, NET_BIND_SERVICE, " +
			"SETFCAP, SETGID, SETPCAP, SETUID and SYS_CHROOT"
	}
	return hint.Hint{Words: words, Edits: []hint.Edit{{Remove: true}}}
}
