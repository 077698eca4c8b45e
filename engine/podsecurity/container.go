package podsecurity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// inContainer finds the violations of controls that only containers can violate.
func inContainer(ctl control, c container) []violation {
	sc := c.SecurityContext
	if sc == nil {
		sc = &corev1.SecurityContext{}
	}
	switch ctl.id {
	case "privileged":
		if sc.Privileged != nil && *sc.Privileged {
			return []violation{bad(c.path("securityContext", "privileged"), true)}
		}
	case "procMount", "procMount_restricted":
		if sc.ProcMount != nil && *sc.ProcMount != corev1.DefaultProcMount {
			return []violation{bad(c.path("securityContext", "procMount"), string(*sc.ProcMount))}
		}
	case "allowPrivilegeEscalation":
		p := c.path("securityContext", "allowPrivilegeEscalation")
		switch {
		case c.SecurityContext == nil:
			return []violation{missing(p)}
		case sc.AllowPrivilegeEscalation == nil:
			return []violation{bad(p, "nil")}
		case *sc.AllowPrivilegeEscalation:
			return []violation{bad(p, true)}
		}
	case "hostPorts":
		var out []violation
		for i, port := range c.Ports {
			if port.HostPort != 0 {
				out = append(out, bad(c.path("ports", i, "hostPort"), port.HostPort))
			}
		}
		return out
	case "capabilities_baseline", "capabilities_restricted":
		return capabilities(ctl, c, sc)
	case "hostProbesAndHostLifecycle":
		return hosts(c)
	}
	return nil
}

func capabilities(ctl control, c container, sc *corev1.SecurityContext) []violation {
	have := sc.Capabilities
	if have == nil {
		have = &corev1.Capabilities{}
	}
	var out []violation
	if ctl.id == "capabilities_restricted" && !slices.Contains(have.Drop, "ALL") {
		p := c.path("securityContext", "capabilities", "drop")
		if len(have.Drop) == 0 {
			out = append(out, missing(p))
		} else {
			out = append(out, violation{path: p, shown: have.Drop, values: names(have.Drop)})
		}
	}
	added := violation{path: c.path("securityContext", "capabilities", "add")}
	var shown []corev1.Capability
	for i, capability := range have.Add {
		only := corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{capability},
			Drop: []corev1.Capability{"ALL"}}}
		if ctl.breaks(nil, corev1.PodSpec{Containers: []corev1.Container{{SecurityContext: &only}}}) {
			added.items, shown = append(added.items, i), append(shown, capability)
		}
	}
	if len(shown) > 0 {
		added.shown, added.values = shown, names(shown)
		out = append(out, added)
	}
	return out
}

func names(capabilities []corev1.Capability) []string {
	out := make([]string, 0, len(capabilities))
	for _, c := range capabilities {
		out = append(out, string(c))
	}
	return out
}

// hosts finds the host fields of probes and lifecycle handlers.
func hosts(c container) []violation {
	var out []violation
	add := func(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction, at ...any) {
		if get != nil && get.Host != "" {
			out = append(out, bad(c.path(append(slices.Clone(at), "httpGet", "host")...), get.Host))
		}
		if socket != nil && socket.Host != "" {
			out = append(out, bad(c.path(append(slices.Clone(at), "tcpSocket", "host")...), socket.Host))
		}
	}
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if p.probe != nil {
			add(p.probe.HTTPGet, p.probe.TCPSocket, p.name)
		}
	}
	if l := c.Lifecycle; l != nil {
		if h := l.PostStart; h != nil {
			add(h.HTTPGet, h.TCPSocket, "lifecycle", "postStart")
		}
		if h := l.PreStop; h != nil {
			add(h.HTTPGet, h.TCPSocket, "lifecycle", "preStop")
		}
	}
	return out
}
