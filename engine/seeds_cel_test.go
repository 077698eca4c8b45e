package engine_test

import (
	"strings"
	"testing"
)

// vpol is a ValidatingPolicy on pods; spec is what follows matchConstraints.
func vpol(name, spec string) string {
	return `apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata:
  name: "` + name + `"
spec:
  matchConstraints:
    resourceRules:
    - apiGroups:   [""]
      apiVersions: ["v1"]
      operations:  ["CREATE", "UPDATE"]
      resources:   ["pods"]
  ` + indentBy(2, spec)
}

func celException(name, policy, spec string) string {
	return `
---
apiVersion: policies.kyverno.io/v1alpha1
kind: PolicyException
metadata:
  name: ` + name + `
spec:
  policyRefs:
    - name: ` + policy + `
      kind: ValidatingPolicy
  ` + indentBy(2, spec)
}

// Either way of writing the condition, over the exception's images or a list of the policy itself.
func TestSeedCELImages(t *testing.T) {
	const secure = `
       has(container.securityContext) &&
       has(container.securityContext.allowPrivilegeEscalation) &&
       container.securityContext.allowPrivilegeEscalation == false`
	plain := vpol("disallow-privilege-escalation",
		"validations:\n  - expression: >- \n      object.spec.containers.all(container,"+secure+")")
	or := func(images string) string {
		return "validations:\n  - expression: >\n      object.spec.containers.all(container,\n       container.image in " +
			images + " ||\n       (" + secure + "\n       )\n       )"
	}
	static := vpol("disallow-privilege-escalation",
		"variables:\n  - name: excludedImages\n    expression: \"['busybox:latest', 'nginx:latest']\"\n"+
			or("variables.excludedImages"))
	filtered := vpol("disallow-privilege-escalation", `
variables:
  # create a new list of containers, excluding those with specified images
  - name: containersToValidate
    expression: >
      object.spec.containers.filter(container, !(container.image in ["nginx:latest", "busybox:latest"]))
validations:
  - expression: >
      variables.containersToValidate.all(container,`+secure+`)
`)
	byException := vpol("disallow-privilege-escalation", or("kyverno.excludedImages"))
	byReleased := vpol("disallow-privilege-escalation", or("exceptions.allowedImages"))
	both := celException("image-based-exceptions", "disallow-privilege-escalation",
		"images:\n- busybox:latest\n- nginx:latest")
	busybox := celException("busybox", "disallow-privilege-escalation", "images: [busybox:latest]")
	nginx := celException("nginx", "disallow-privilege-escalation", "images: [nginx:latest]")

	const open = "{name: b, image: 'nginx:latest'}"
	const locked = "{name: a, image: 'redis:7', securityContext: {allowPrivilegeEscalation: false}}"
	listed := seedPod("", "containers: ["+locked+", "+open+"]")
	two := seedPod("", "containers: ["+open+", {name: c, image: 'busybox:latest'}]")
	other := seedPod("", "containers: ["+open+", {name: c, image: 'redis:7'}]")
	escalates := seedPod("", "containers: [{name: c, image: 'redis:7', securityContext: {allowPrivilegeEscalation: true}}]")
	const at = " fail blocks /spec/containers/"
	runSeeds(t, []seed{
		{name: "plain, held", policies: plain, object: seedPod("", "containers: ["+locked+"]"), want: []string{" pass"}},
		{name: "plain, not said", policies: plain, object: listed, want: []string{at + "1/securityContext"}},
		{name: "plain, violated", policies: plain, object: escalates,
			want: []string{at + "0/securityContext/allowPrivilegeEscalation"}},
		{name: "plain, an exception without use of it", policies: plain, exceptions: both, object: listed,
			want: []string{at + "1/securityContext"}},
		{name: "static list, listed", policies: static, object: two, want: []string{" pass"}},
		{name: "static list, not listed", policies: static, object: other, want: []string{" fail blocks *"}},
		{name: "filtered, listed", policies: filtered, object: two, want: []string{" pass"}},
		{name: "filtered, not listed", policies: filtered, object: other, want: []string{at + "1/securityContext"}},
		{name: "no exception", policies: byException, object: listed, want: []string{" fail blocks *"}},
		{name: "no exception and held", policies: byException, object: seedPod("", "containers: ["+locked+"]"),
			want: []string{" pass"}},
		{name: "excepted", policies: byException, exceptions: both, object: listed,
			want: []string{" pass by image-based-exceptions"}},
		{name: "excepted by the released name", policies: byReleased, exceptions: both, object: listed,
			want: []string{" pass by image-based-exceptions"}},
		{name: "another image", policies: byException, exceptions: both, object: other, want: []string{" fail blocks *"}},
		{name: "two exceptions together", policies: byException, exceptions: busybox + nginx, object: two,
			want: []string{" pass by busybox by nginx combined"}},
		{name: "one of two is enough", policies: byException, exceptions: busybox + nginx, object: listed,
			want: []string{" pass by nginx"}},
		{name: "an exception to another policy", policies: byException, exceptions: strings.Replace(both, "name: disallow",
			"name: allow", 1), object: listed, want: []string{" fail blocks *"}},
	})
}

func TestSeedCELValues(t *testing.T) {
	const known = `
        has(vol.configMap) ||
        has(vol.csi) ||
        has(vol.downwardAPI) ||
        has(vol.emptyDir) ||
        has(vol.ephemeral) ||
        has(vol.persistentVolumeClaim) ||
        has(vol.projected) ||
        has(vol.secret)
    )`
	const before = "validations:\n- expression: >-\n    !has(object.spec.volumes) ||\n    object.spec.volumes.all(vol,"
	plain := vpol("enforce-approved-volume-types", before+known)
	byException := vpol("enforce-approved-volume-types",
		before+"\n        kyverno.allowedValues.volumeTypes.exists(type, has(vol[type])) ||"+known)
	hostPath := celException("allow-hostpath-for-nginx", "enforce-approved-volume-types", `
matchConditions:
  - expression: "object.metadata.name == 'nginx-pod'"
allowedValues:
  volumeTypes:
    - hostPath
`)
	named := func(name, volume string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
			", namespace: default}\nspec: {containers: [{name: a}], volumes: [{name: c, configMap: {name: c}}, {name: v, " +
			volume + "}]}"
	}
	const path, nfs = "hostPath: {path: /tmp}", "nfs: {server: a, path: /b}"
	const fail = " fail blocks /spec/volumes/1"
	runSeeds(t, []seed{
		{name: "no volumes", policies: byException, object: seedPod("", "containers: [{name: a}]"), want: []string{" pass"}},
		{name: "a known type", policies: byException, object: named("x", "emptyDir: {}"), want: []string{" pass"}},
		{name: "plain", policies: plain, object: named("nginx-pod", path), want: []string{fail}},
		{name: "no exception", policies: byException, object: named("nginx-pod", path), want: []string{fail}},
		{name: "excepted", policies: byException, exceptions: hostPath, object: named("nginx-pod", path),
			want: []string{" pass by allow-hostpath-for-nginx"}},
		{name: "another pod", policies: byException, exceptions: hostPath, object: named("web", path), want: []string{fail}},
		{name: "another type", policies: byException, exceptions: hostPath, object: named("nginx-pod", nfs),
			want: []string{fail}},
	})
}

func TestSeedCELImagesWithValues(t *testing.T) {
	const head = "validations:\n- expression: >\n    object.spec.containers.all(container,\n" +
		"        !has(container.securityContext) ||\n        !has(container.securityContext.seccompProfile) ||\n" +
		"        !has(container.securityContext.seccompProfile.type) ||"
	const tail = "\n        container.securityContext.seccompProfile.type == 'RuntimeDefault' ||\n" +
		"        container.securityContext.seccompProfile.type == 'Localhost'\n    )"
	plain := vpol("enforce-seccomp-profile", head+tail)
	byException := vpol("enforce-seccomp-profile",
		head+"\n        (container.image in kyverno.excludedImages && \n"+
			"        container.securityContext.seccompProfile.type in kyverno.allowedValues.seccompProfileType) ||"+tail)
	unconfined := celException("allow-unconfined-for-nginx", "enforce-seccomp-profile",
		"images:\n  - nginx\nallowedValues:\n  seccompProfileType:\n    - Unconfined")
	onlyImage := celException("image", "enforce-seccomp-profile",
		"images: [nginx]\nallowedValues: {seccompProfileType: [Other]}")
	onlyValue := celException("value", "enforce-seccomp-profile",
		"images: [redis]\nallowedValues: {seccompProfileType: [Unconfined]}")
	running := func(image, profile string) string {
		return seedPod("", "containers: [{name: a, image: "+image+", securityContext: {seccompProfile: {type: "+profile+
			"}}}]")
	}
	const at = "/spec/containers/0/securityContext/seccompProfile/type"
	runSeeds(t, []seed{
		{name: "plain, allowed", policies: plain, object: running("nginx", "Localhost"), want: []string{" pass"}},
		{name: "plain, not allowed", policies: plain, object: running("nginx", "Unconfined"),
			want: []string{" fail blocks " + at}},
		{name: "no exception", policies: byException, object: running("nginx", "Unconfined"),
			want: []string{" fail blocks /spec/containers/0/image " + at}},
		{name: "no exception, allowed", policies: byException, object: running("nginx", "RuntimeDefault"),
			want: []string{" pass"}},
		{name: "excepted", policies: byException, exceptions: unconfined, object: running("nginx", "Unconfined"),
			want: []string{" pass by allow-unconfined-for-nginx"}},
		{name: "another image", policies: byException, exceptions: unconfined, object: running("redis", "Unconfined"),
			want: []string{" fail blocks /spec/containers/0/image " + at}},
		{name: "another value", policies: byException, exceptions: unconfined, object: running("nginx", "Other"),
			want: []string{" fail blocks " + at}},
		{name: "one exception's image with the other's value", policies: byException, exceptions: onlyImage + onlyValue,
			object: running("nginx", "Unconfined"), want: []string{" pass by image by value combined"}},
	})
}
