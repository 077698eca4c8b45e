package report

import "testing"

func TestConcludeEvaluation(t *testing.T) {
	enforced := EvaluationResult{Result: Fail, Action: Enforce}
	tolerated := enforced
	tolerated.Tolerated = true
	one := func(r ...EvaluationResult) Evaluation { return Evaluation{Results: r} }
	for name, c := range map[string]struct {
		evaluation Evaluation
		want       Conclusion
	}{
		"nothing":         {Evaluation{}, Success},
		"passed":          {one(EvaluationResult{Result: Pass}, EvaluationResult{Result: Skip}), Success},
		"enforced":        {one(EvaluationResult{Result: Unknown}, enforced), Failure},
		"enforced, error": {one(EvaluationResult{Result: Error, Action: Enforce}), Failure},
		"tolerated":       {one(tolerated), Neutral},
		"audited":         {one(EvaluationResult{Result: Warn, Action: Audit}), Neutral},
		"unknown":         {one(EvaluationResult{Result: Unknown, Action: Enforce}), Neutral},
		"broken file":     {Evaluation{Errors: []Problem{{}}}, Failure},
		"warnings":        {Evaluation{Warnings: []Problem{{}}}, Success},
	} {
		if c.evaluation.Conclude(); c.evaluation.Conclusion != c.want {
			t.Errorf("%s: %s, want %s", name, c.evaluation.Conclusion, c.want)
		}
	}
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		result    EvaluationResult
		plain, as Result // without and with auditWarn
	}{
		{EvaluationResult{Result: Pass, Action: Audit}, Pass, Pass},
		{EvaluationResult{Result: Fail, Action: Enforce}, Fail, Fail},
		{EvaluationResult{Result: Warn, Action: Audit}, Fail, Warn},
		{EvaluationResult{Result: Fail, Action: Enforce, Unscored: true}, Warn, Warn},
		{EvaluationResult{Result: Warn, Action: Audit, Unscored: true}, Warn, Warn},
		{EvaluationResult{Result: Unknown, Action: Audit}, Error, Error},
		{EvaluationResult{Result: Error, Action: Audit}, Error, Error},
		{EvaluationResult{Result: Skip, Action: Enforce}, Skip, Skip},
		{EvaluationResult{Result: Fail, Action: Enforce, Tolerated: true}, Skip, Skip},
	} {
		for auditWarn, want := range map[bool]Result{false: c.plain, true: c.as} {
			e := Evaluation{Results: []EvaluationResult{c.result}, Stats: EvaluationStats{Unknown: 7, Resources: 2}}
			e.Apply(auditWarn)
			counted := EvaluationStats{Resources: 2}
			counted.Count(want)
			if got := e.Results[0].Result; got != want || e.Stats != counted {
				t.Errorf("%+v, %v: %s, want %s; %+v", c.result, auditWarn, got, want, e.Stats)
			}
		}
	}
}
