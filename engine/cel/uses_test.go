package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllowances(t *testing.T) {
	list := func(names ...string) Allowances { return Allowances{Values: names} }
	for expression, want := range map[string]Allowances{
		"true":                                   {},
		"'kyverno.excludedImages' == object.x":   {},
		"object.image in kyverno.excludedImages": {Images: true},
		"object.image in exceptions.allowedImages // allowedValues": {Images: true},
		"object.image in kyverno['excludedImages']":                 {Images: true},

		"object.x in kyverno.allowedValues":                                             list(""),
		"object.x in kyverno.allowedValues['a-b']":                                      list("a-b"),
		"object.x in kyverno.allowedValues[object.key]":                                 list(""),
		"object.x in exceptions.allowedValues.?a.orValue([])":                           list("a"),
		"has(kyverno.allowedValues.a) && kyverno.allowedValues[?'b'].orValue([]) == []": list("a", "b"),

		"object.x in exceptions.allowedValues.b || 'x' in kyverno.allowedValues.a + kyverno.allowedValues.a": list("a", "b"),
		"object.c.all(x, x.image in exceptions.allowedImages && x.cap in exceptions.allowedValues)": {
			Images: true, Values: []string{""},
		},
	} {
		p, problems := compileVP(t, podPolicy(validates(expression)))
		if p == nil {
			t.Fatal(problems)
		}
		if diff := cmp.Diff(want, p.Allowances()); diff != "" {
			t.Errorf("%s: %s", expression, diff)
		}
	}
}

func TestAllowancesOfVariables(t *testing.T) {
	variables := "  variables: [{name: all, expression: kyverno.excludedImages}]\n"
	p, problems := compileVP(t, podPolicy(variables+validates("object.image in variables.all")))
	if p == nil {
		t.Fatal(problems)
	}
	if !p.Allowances().Images {
		t.Error("an image list behind a variable is not seen")
	}
}

func TestExceptionReadsRequest(t *testing.T) {
	for condition, want := range map[string]bool{
		"object.metadata.name == 'userInfo'": false, "request.namespace == 'x'": false,
		"has(request.namespace)":               false,
		"request.object.spec.operation == 'x'": false, "request.operation == 'CREATE'": true,
		"has(request.userInfo)": true,
		"oldObject == null":     true, "request.userInfo.username == 'x'": true, "request == object": true,
		"request['kind'].kind == 'Pod'":                       false,
		"[1].all(request, .request.userInfo.username == 'x')": true, "[1].all(object, .object.x == object)": false,
	} {
		e := exceptionOf(t, "e", "  matchConditions: [{name: c, expression: \""+condition+"\"}]\n")
		if got := e.ReadsRequest(); got != want {
			t.Errorf("%s: %v, want %v", condition, got, want)
		}
	}
}
