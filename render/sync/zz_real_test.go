package sync

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

func TestReal(t *testing.T) {
	dir := os.Getenv("REAL")
	if dir == "" {
		t.Skip()
	}
	o, err := tree.Open(t.Context(), tree.Config{GitDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	tr, err := o.Tree("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var objects []Object
	_ = tr.Walk(func(p string, e tree.Entry) error {
		if ext := path.Ext(p); ext != ".yaml" && ext != ".yml" {
			return nil
		}
		data, _, err := tr.ReadFile(p)
		if err != nil || !(strings.Contains(string(data), "argoproj.io") || strings.Contains(string(data), "fluxcd.io") || strings.Contains(string(data), "ConfigMap")) {
			return nil
		}
		docs, err := source.Parse(p, data, source.Limits{})
		if err != nil {
			return nil
		}
		for _, d := range docs {
			objects = append(objects, FromNode(p, d))
		}
		return nil
	})
	start := time.Now()
	list, problems := Deployments(objects, Options{Tree: tr})
	fmt.Println(len(objects), "objects", len(list), "deployments", len(problems), "problems", time.Since(start))
	kinds := map[string]int{}
	for _, d := range list {
		kinds[fmt.Sprint(d.Kind, " bare=", d.Bare())]++
		v, p := Edit(tr, &d, Limits{})
		files, q := Files(tr, &d, Limits{})
		problems = append(problems, p...)
		problems = append(problems, q...)
		if os.Getenv("V") != "" {
			fmt.Println(d.ID(), d.Kind, d.Path, "ns="+d.Namespace, "cluster="+d.Cluster, d.Where, d.PathWhere, len(files))
			if v != nil {
				fmt.Printf("--- %s %v\n", v.Path, v.Generated)
				for i, l := range strings.Split(strings.TrimSuffix(string(v.Data), "\n"), "\n") {
					fmt.Printf("%-60s | %v\n", l, v.Place(i+1, 1))
				}
			}
		}
	}
	fmt.Println(kinds)
	for i, p := range problems {
		if i < 40 {
			fmt.Println(p.Cluster, p.Warning, p.Error.Error())
		}
	}
}
