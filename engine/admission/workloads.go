package admission

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
func pod(o object) {
	spec := child(o, "spec")
	podSpec(spec)
	set(spec, "enableServiceLinks", true)
	for _, list := range []string{"initContainers", "containers"} {
		each(spec, list, func(c object) {
			resources := existing(c, "resources")
			for name, limit := range existing(resources, "limits") {
				set(child(resources, "requests"), name, limit)
			}
		})
	}
}

// template gives a pod template its defaults.
func template(o object) {
	if o != nil {
		podSpec(child(o, "spec"))
	}
}

func podSpec(spec object) {
	if spec == nil {
		return
	}
	set(spec, "restartPolicy", "Always")
	set(spec, "dnsPolicy", "ClusterFirst")
	set(spec, "schedulerName", "default-scheduler")
	set(spec, "terminationGracePeriodSeconds", int64(30))
	set(spec, "securityContext", object{})
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		each(spec, list, func(c object) {
			container(c)
			if spec["hostNetwork"] == true {
				each(c, "ports", func(p object) {
					if port, ok := p["containerPort"]; ok {
						set(p, "hostPort", port)
					}
				})
			}
		})
	}
	each(spec, "volumes", volume)
}

func container(c object) {
	set(c, "terminationMessagePath", "/dev/termination-log")
	set(c, "terminationMessagePolicy", "File")
	set(c, "resources", object{})
	if image, ok := c["image"].(string); ok && image != "" {
		policy := "IfNotPresent"
		if latest(image) {
			policy = "Always"
		}
		set(c, "imagePullPolicy", policy)
	}
	each(c, "ports", func(p object) { set(p, "protocol", "TCP") })
	each(c, "env", func(e object) { fieldRef(existing(e, "valueFrom")) })
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if probe := existing(c, name); probe != nil {
			set(probe, "timeoutSeconds", int64(1))
			set(probe, "periodSeconds", int64(10))
			set(probe, "successThreshold", int64(1))
			set(probe, "failureThreshold", int64(3))
			httpGet(probe)
			set(existing(probe, "grpc"), "service", "")
		}
	}
	lifecycle := existing(c, "lifecycle")
	httpGet(existing(lifecycle, "postStart"))
	httpGet(existing(lifecycle, "preStop"))
}

func httpGet(handler object) {
	get := existing(handler, "httpGet")
	set(get, "path", "/")
	set(get, "scheme", "HTTP")
}

func fieldRef(source object) { set(existing(source, "fieldRef"), "apiVersion", "v1") }

const defaultMode = int64(0o644)

func volume(v object) {
	sources := 0
	for field, value := range v {
		if field != "name" && value != nil {
			sources++
		}
	}
	if sources == 0 {
		v["emptyDir"] = object{}
	}
	set(existing(v, "hostPath"), "type", "")
	for _, source := range []string{"secret", "configMap", "downwardAPI", "projected"} {
		set(existing(v, source), "defaultMode", defaultMode)
	}
	each(existing(v, "downwardAPI"), "items", fieldRef)
	each(existing(v, "projected"), "sources", func(s object) {
		set(existing(s, "serviceAccountToken"), "expirationSeconds", int64(3600))
		each(existing(s, "downwardAPI"), "items", fieldRef)
	})
	set(existing(existing(existing(v, "ephemeral"), "volumeClaimTemplate"), "spec"), "volumeMode", "Filesystem")
}

// controller gives a ReplicaSet or ReplicationController its defaults.
func controller(o object) {
	spec := child(o, "spec")
	set(spec, "replicas", int64(1))
	template(existing(spec, "template"))
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/deployment-v1/
func deployment(o object) {
	controller(o)
	spec := child(o, "spec")
	set(spec, "revisionHistoryLimit", int64(10))
	set(spec, "progressDeadlineSeconds", int64(600))
	rolling(spec, "strategy", object{"maxSurge": "25%", "maxUnavailable": "25%"})
}

// rolling makes an update strategy a rolling one, with limits, unless another one is chosen.
func rolling(spec object, field string, limits object) {
	strategy := child(spec, field)
	set(strategy, "type", "RollingUpdate")
	if strategy["type"] == "RollingUpdate" {
		for name, limit := range limits {
			set(child(strategy, "rollingUpdate"), name, limit)
		}
	}
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/stateful-set-v1/
func statefulSet(o object) {
	controller(o)
	spec := child(o, "spec")
	set(spec, "revisionHistoryLimit", int64(10))
	set(spec, "podManagementPolicy", "OrderedReady")
	retention := child(spec, "persistentVolumeClaimRetentionPolicy")
	set(retention, "whenDeleted", "Retain")
	set(retention, "whenScaled", "Retain")
	rolling(spec, "updateStrategy", object{"partition": int64(0)})
	each(spec, "volumeClaimTemplates", claim)
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/
func daemonSet(o object) {
	spec := child(o, "spec")
	template(existing(spec, "template"))
	set(spec, "revisionHistoryLimit", int64(10))
	rolling(spec, "updateStrategy", object{"maxSurge": int64(0), "maxUnavailable": int64(1)})
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/
func job(o object) {
	spec := child(o, "spec")
	if spec["completions"] == nil && spec["parallelism"] == nil {
		set(spec, "completions", int64(1))
	}
	set(spec, "parallelism", int64(1))
	set(spec, "backoffLimit", int64(6))
	set(spec, "completionMode", "NonIndexed")
	set(spec, "suspend", false)
	if spec["podFailurePolicy"] != nil {
		set(spec, "podReplacementPolicy", "Failed")
	} else {
		set(spec, "podReplacementPolicy", "TerminatingOrFailed")
	}
	template(existing(spec, "template"))
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/cron-job-v1/
func cronJob(o object) {
	spec := child(o, "spec")
	set(spec, "concurrencyPolicy", "Allow")
	set(spec, "suspend", false)
	set(spec, "successfulJobsHistoryLimit", int64(3))
	set(spec, "failedJobsHistoryLimit", int64(1))
	template(existing(existing(existing(spec, "jobTemplate"), "spec"), "template"))
}
