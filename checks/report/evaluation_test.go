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
