// Command admission-truth asks an API server on this machine what it refuses of objects, when they are created and when
// they take the place of others, asks Lintel the same, and prints where the two do not agree. It creates what it
// changes, and deletes that again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
	"github.com/lintel-bot/lintel/checks/builtin/schema"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

type options struct {
	kubeconfig, manifests string
	minor                 int
	n                     int
	seed                  uint64
	objects, all, fields  bool
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "of an API server on this machine, with a token")
	flag.IntVar(&o.minor, "minor", 35, "N of the version 1.N of Kubernetes that the server is of")
	flag.StringVar(&o.manifests, "manifests", "", "folders of manifests to change, with commas between them")
	flag.IntVar(&o.n, "n", 400, "how many changes of real manifests to try")
	flag.Uint64Var(&o.seed, "seed", 1, "what the changes are chosen by")
	flag.BoolVar(&o.objects, "objects", false, "print the objects that there is no agreement on")
	flag.BoolVar(&o.all, "v", false, "print also what there is agreement on")
	flag.BoolVar(&o.fields, "fields", false, "print also where both refuse an object for other fields")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "admission-truth:", err)
		os.Exit(1)
	}
}

// compare asks both of all objects.
func compare(ctx context.Context, out io.Writer, o options) error {
	s, err := connect(ctx, o.kubeconfig)
	if err != nil {
		return err
	}
	here, err := embedded("cluster.yaml")
	if err != nil {
		return err
	}
	declared := func(context.Context, string, string, string) []map[string]any { return here }
	c := &comparison{server: s, minor: o.minor, out: out, objects: o.objects, all: o.all, fields: o.fields,
		schemas: schema.Compile(fmt.Sprintf("1.%d", o.minor), declared)}
	if err := c.prepare(ctx, here); err != nil {
		return err
	}
	pairs, err := written()
	if err != nil {
		return err
	}
	if o.manifests != "" {
		more, err := found(ctx, s, o.manifests, o.n, o.seed)
		if err != nil {
			return err
		}
		pairs = append(pairs, more...)
	}
	for _, p := range pairs {
		if err := c.try(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.from, err)
		}
	}
	c.tally.print(out)
	return nil
}

// comparison is what is asked, and what came of it.
type comparison struct {
	server  *server
	schemas *schema.Schemas
	minor   int
	out     io.Writer
	objects bool
	all     bool
	fields  bool
	tally   tally
}

// prepare creates what the objects refer to, and a namespace for each kind.
func (c *comparison) prepare(ctx context.Context, here []map[string]any) error {
	if err := c.create(ctx, here); err != nil {
		return err
	}
	for range 100 { // a kind that is defined is served a moment later
		if err := c.server.discover(ctx); err != nil {
			return err
		}
		if _, ok := c.server.resources["truth.example.com/v1 Widget"]; ok {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	var namespaces []map[string]any
	for _, r := range c.server.resources {
		if r.Namespaced {
			namespaces = append(namespaces, map[string]any{"apiVersion": "v1", "kind": "Namespace",
				"metadata": map[string]any{"name": namespaceOf(r)}})
		}
	}
	return c.create(ctx, namespaces)
}

// create creates objects that are not there yet.
func (c *comparison) create(ctx context.Context, objects []map[string]any) error {
	for _, o := range objects {
		path, _, _ := c.server.collection(o)
		if v, err := c.server.create(ctx, path, o, false); err != nil || v.refused() && v.Reason != "AlreadyExists" {
			return errors.Join(err, fmt.Errorf("%v cannot be created: %s", o, v.Message))
		}
	}
	return nil
}

// try tries a pair: the old object and the new one as created, and the new one in the place of the old one.
func (c *comparison) try(ctx context.Context, p pair) error {
	path, namespace, ok := c.server.collection(p.now)
	if !ok {
		return errors.New("the server does not have the kind")
	}
	for _, o := range []map[string]any{p.was, p.now} {
		if metadata, ok := o["metadata"].(map[string]any); ok && namespace != "" {
			metadata["namespace"] = namespace
		}
	}
	if err := c.created(ctx, path, p.from, p.now); err != nil || p.was == nil {
		return err
	}
	name, _ := jsonpointer.At(p.was, "/metadata/name").(string)
	if name != jsonpointer.At(p.now, "/metadata/name") {
		return nil // another object
	}
	v, err := c.server.create(ctx, path, p.was, false)
	if err != nil || v.refused() {
		return err
	}
	object := path + "/" + url.PathEscape(name)
	if err = c.server.settle(ctx, object, p.was); err == nil {
		v, err = c.server.update(ctx, object, p.now, p.was)
	}
	if err == nil {
		c.judge(ctx, "update", p.from, v, p.now, p.was)
	}
	return errors.Join(err, c.server.remove(context.WithoutCancel(ctx), object))
}

func (c *comparison) created(ctx context.Context, path, from string, o map[string]any) error {
	v, err := c.server.create(ctx, path, o, true)
	if err == nil && v.Code != http.StatusConflict {
		c.judge(ctx, "create", from, v, o, nil)
	}
	return err
}

// judge compares what the server says of an object with what Lintel says: whether it is refused and, where both refuse
// it, for which fields.
func (c *comparison) judge(ctx context.Context, verb, from string, v verdict, now, was map[string]any) {
	said, warned := c.lintel(ctx, now, was)
	kind, _ := now["kind"].(string)
	c.tally.add(verb, kind, v, said)
	agree := v.refused() == (len(said) > 0)
	if v.Reason == "Invalid" && len(said) > 0 {
		agree = c.sameFields(v, said, now) || !c.fields
	}
	if agree && !v.refused() {
		agree = c.sameWarnings(v, warned) || !c.fields
	}
	if agree && !c.all {
		return
	}
	server := "takes it"
	if v.refused() {
		server = "refuses it: " + v.Reason + ": " + v.Message
	}
	_, _ = fmt.Fprintf(c.out, "%s %s, %s\n  server %s\n", verb, kind, from, server)
	for _, w := range v.warnings {
		_, _ = fmt.Fprintf(c.out, "  server warns: %s\n", w)
	}
	for _, w := range append(said, warned...) {
		_, _ = fmt.Fprintf(c.out, "  lintel %s %s %s\n", w.check, w.Pointer, w.Message)
	}
	for _, o := range []map[string]any{was, now} {
		if text, err := doc.Print(o); err == nil && o != nil && c.objects {
			_, _ = fmt.Fprintf(c.out, "  ---\n  %s\n", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
		}
	}
}

// sameFields compares the fields that the server names with those that Lintel does, and counts the former. One that is
// part of another is the same.
func (c *comparison) sameFields(v verdict, said []words, now map[string]any) bool {
	var named []string
	for _, f := range v.fields {
		if f == "patch" {
			return true // it cannot be read, and the server says no field
		}
		named = append(named, schema.PointerTo(now, f))
	}
	same := !slices.ContainsFunc(said, func(w words) bool {
		return w.check == "api-server" && !slices.ContainsFunc(named, func(f string) bool { return related(f, w.Pointer) })
	})
	for _, f := range named {
		c.tally.fields++
		if slices.ContainsFunc(said, func(w words) bool { return related(f, w.Pointer) }) {
			c.tally.alsoLintel++
		} else {
			same = false
		}
	}
	return same
}

// sameWarnings compares what the server warns of with what Lintel does, and counts both.
func (c *comparison) sameWarnings(v verdict, warned []words) bool {
	same := 0
	for _, w := range warned {
		if slices.ContainsFunc(v.warnings, func(text string) bool { return strings.HasSuffix(text, w.Message) }) {
			same++
		}
	}
	c.tally.warnings += len(v.warnings)
	c.tally.bothWarn += same
	c.tally.lintelWarns += len(warned)
	return same == len(v.warnings) && same == len(warned)
}

func related(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// words are one thing that a check of Lintel says.
type words struct {
	check string
	schema.Violation
}

// lintel returns what Lintel has against an object, as its checks api-server and schema do, and what it warns of.
func (c *comparison) lintel(ctx context.Context, now, was map[string]any) (said, warned []words) {
	answer := apiserver.Look(ctx, runtime.DeepCopyJSON(now), was, c.minor, false, nil)
	for _, v := range append(answer.Refused, answer.Fixed...) {
		said = append(said, words{"api-server", v})
	}
	for _, v := range c.schemas.Validate(ctx, now, was).Violations {
		said = append(said, words{"schema", v})
	}
	for _, v := range answer.Warned {
		warned = append(warned, words{"api-server-warnings", v})
	}
	return said, warned
}
