package helm

import "text/template"

func (r *run) frozenFuncs() template.FuncMap { return template.FuncMap{} }
