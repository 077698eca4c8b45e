package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// server is an API server on this machine.
type server struct {
	url, token string
	client     *http.Client
	resources  map[string]resource // by API version and kind
}

// resource is how the server has a kind.
type resource struct {
	Name, Kind string
	Namespaced bool
	path       string // of the API version
}

// verdict is what the server says of a request.
type verdict struct {
	Status, Reason, Message string
	Code                    int
	fields, warnings        []string // as it words them
}

func (v verdict) refused() bool { return v.Status == "Failure" }

// connect reads a kubeconfig with a token. What is created here would be a nuisance elsewhere: only a server on this
// machine is taken, and its certificate is not looked at.
func connect(ctx context.Context, kubeconfig string) (*server, error) {
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	var config map[string]any
	if err := yaml.Unmarshal(data, &config); err != nil {
		return nil, err
	}
	s := &server{resources: map[string]resource{}, client: &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	s.url, _ = jsonpointer.At(config, "/clusters/0/cluster/server").(string)
	s.token, _ = jsonpointer.At(config, "/users/0/user/token").(string)
	at, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(at.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("the API server %s is not on this machine", s.url)
	}
	return s, s.discover(ctx)
}

// discover asks for the kinds that the server has.
func (s *server) discover(ctx context.Context) error {
	var groups struct {
		Groups []struct {
			Versions []struct{ GroupVersion string }
		}
	}
	if err := s.read(ctx, "/apis", &groups); err != nil {
		return err
	}
	paths := map[string]string{"v1": "/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths[v.GroupVersion] = "/apis/" + v.GroupVersion
		}
	}
	for apiVersion, path := range paths {
		var list struct{ Resources []resource }
		if err := s.read(ctx, path, &list); err != nil {
			return err
		}
		for _, r := range list.Resources {
			if !strings.Contains(r.Name, "/") {
				r.path = path
				s.resources[apiVersion+" "+r.Kind] = r
			}
		}
	}
	return nil
}

func (s *server) read(ctx context.Context, path string, into any) error {
	data, _, err := s.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func (s *server) send(ctx context.Context, method, path, contentType string, body any) (
	data []byte, headers http.Header, err error) {
	if data, err = json.Marshal(body); err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", contentType)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err = io.ReadAll(response.Body)
	return data, response.Header, err
}

func (s *server) ask(ctx context.Context, method, path, contentType string, body any) (v verdict, err error) {
	data, headers, err := s.send(ctx, method, path, contentType, body)
	if err != nil {
		return v, err
	}
	var answer struct {
		Status          any
		Reason, Message string
		Code            int
		Kind            string
		Details         struct{ Causes []struct{ Field string } }
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return v, fmt.Errorf("%s %s: %s", method, path, data)
	}
	warnings, _ := utilnet.ParseWarningHeaders(headers.Values("Warning"))
	for _, w := range warnings {
		v.warnings = append(v.warnings, w.Text)
	}
	if answer.Kind == "Status" {
		v.Reason, v.Message, v.Code = answer.Reason, answer.Message, answer.Code
		v.Status, _ = answer.Status.(string)
		for _, cause := range answer.Details.Causes {
			v.fields = append(v.fields, cause.Field)
		}
	}
	return v, nil
}

const (
	strict, dry        = "?fieldValidation=Strict", "&dryRun=All"
	asJSON, mergePatch = "application/json", "application/merge-patch+json"
)

// collection is where objects of the kind of an object are created: each kind has a namespace of its own, so that a
// ResourceQuota is none of a Pod.
func (s *server) collection(o map[string]any) (path, namespace string, ok bool) {
	r, ok := s.resources[fmt.Sprint(o["apiVersion"], " ", o["kind"])]
	if !ok || !r.Namespaced {
		return r.path + "/" + r.Name, "", ok
	}
	namespace = namespaceOf(r)
	return r.path + "/namespaces/" + namespace + "/" + r.Name, namespace, true
}

// create creates an object; dryly: not really.
func (s *server) create(ctx context.Context, collection string, o map[string]any, dryly bool) (verdict, error) {
	path := collection + strict
	if dryly {
		path += dry
	}
	return s.ask(ctx, http.MethodPost, path, asJSON, o)
}

// settle has what a cluster does with some objects soon after they are created: a claim is bound to a volume of the size
// that it asks for, as a controller would, and a definition of custom resources is established.
func (s *server) settle(ctx context.Context, object string, o map[string]any) error {
	switch o["kind"] {
	case "PersistentVolumeClaim":
		status := map[string]any{"phase": "Bound", "accessModes": jsonpointer.At(o, "/spec/accessModes"),
			"capacity": jsonpointer.At(o, "/spec/resources/requests")}
		v, err := s.ask(ctx, http.MethodPatch, object+"/status", mergePatch, map[string]any{"status": status})
		if err == nil && v.refused() {
			err = errors.New(v.Message)
		}
		return err
	case "CustomResourceDefinition":
		for range 100 {
			var live struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
			if err := s.read(ctx, object, &live); err != nil {
				return err
			}
			for _, c := range live.Status.Conditions {
				if c.Type == "Established" && c.Status == "True" {
					return nil
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// update does what kubectl apply would do to change an object that is there, not really.
func (s *server) update(ctx context.Context, object string, now, was map[string]any) (verdict, error) {
	return s.ask(ctx, http.MethodPatch, object+strict+dry, mergePatch, patch(now, was))
}

// patch is the JSON merge patch that has what now has, and removes what only was has.
func patch(now, was map[string]any) map[string]any {
	out := map[string]any{}
	for key := range was {
		if _, ok := now[key]; !ok {
			out[key] = nil
		}
	}
	for key, value := range now {
		child, ok := value.(map[string]any)
		before, also := was[key].(map[string]any)
		if ok && also {
			value = patch(child, before)
		}
		out[key] = value
	}
	return out
}

// remove deletes an object with its finalizers and waits until it is gone.
func (s *server) remove(ctx context.Context, object string) error {
	gone := map[string]any{"propagationPolicy": "Background", "gracePeriodSeconds": 0}
	for range 200 {
		v, err := s.ask(ctx, http.MethodDelete, object, asJSON, gone)
		if err != nil || v.Code == http.StatusNotFound {
			return err
		}
		var live map[string]any
		if err := s.read(ctx, object, &live); err != nil {
			return err
		}
		if jsonpointer.At(live, "/metadata/finalizers") != nil {
			without := map[string]any{"metadata": map[string]any{"finalizers": nil}}
			if _, err := s.ask(ctx, http.MethodPatch, object, mergePatch, without); err != nil {
				return err
			}
		}
		if live["kind"] == "Namespace" {
			live["spec"] = map[string]any{}
			if _, err := s.ask(ctx, http.MethodPut, object+"/finalize", asJSON, live); err != nil {
				return err
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New(object + " stays after it was deleted")
}

func namespaceOf(r resource) string { return "truth-" + strings.ToLower(r.Kind) }
