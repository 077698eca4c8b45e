package cel

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// image is a parsed image reference, a value of the expression language. Its parts are filled in as
// containerd and Docker do (https://kyverno.io/docs/policy-types/cel-libraries/#image-library): registry
// index.docker.io, repository library/<name> and tag latest where none is given.
type image struct {
	text, registry, repository, tag, digest string
}

var imageType = cel.ObjectType("kyverno.image")

var (
	repositoryPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_./-]{2,255}$`) })
	tagPattern        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) })
	digestPattern     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })
)

// parseImage reads an image reference of at most 1,024 bytes. It takes and refuses what Kyverno does
// (ParseReference of github.com/google/go-containerregistry/pkg/name): more than a container runtime would in
// the name of a repository, less in digests.
func parseImage(s string) (image, error) {
	img := image{text: s}
	if len(s) > 1024 {
		return img, fmt.Errorf("the image reference is longer than 1024 characters")
	}
	rest := s
	if before, digest, ok := strings.Cut(rest, "@"); ok {
		if !digestPattern().MatchString(digest) {
			return img, fmt.Errorf("could not parse image reference %q: bad digest", s)
		}
		rest, img.digest = before, digest
	}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		if !tagPattern().MatchString(rest[i+1:]) {
			return img, fmt.Errorf("could not parse image reference %q: bad tag", s)
		}
		rest, img.tag = rest[:i], rest[i+1:]
	}
	img.registry, img.repository = "index.docker.io", rest
	if host, repository, ok := strings.Cut(rest, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		img.registry, img.repository = host, repository
	}
	if img.registry == "docker.io" {
		img.registry = "index.docker.io"
	}
	if host, err := url.Parse("//" + img.registry); err != nil || host.Host != img.registry ||
		!repositoryPattern().MatchString(img.repository) {
		return img, fmt.Errorf("could not parse image reference %q", s)
	}
	if img.registry == "index.docker.io" && !strings.Contains(img.repository, "/") {
		img.repository = "library/" + img.repository
	}
	if img.digest != "" {
		img.tag = "" // a digest decides which image it is
	} else if img.tag == "" {
		img.tag = "latest"
	}
	return img, nil
}

// identifier is the digest, or else the tag.
func (i image) identifier() string {
	if i.digest != "" {
		return i.digest
	}
	return i.tag
}

// The methods of ref.Val.

func (i image) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() == reflect.String {
		return i.text, nil
	}
	return nil, fmt.Errorf("an image reference cannot become %v", t)
}

func (i image) ConvertToType(t ref.Type) ref.Val {
	if t == types.StringType {
		return types.String(i.text)
	}
	return converted(i, imageType, t)
}

func (i image) Equal(other ref.Val) ref.Val {
	o, ok := other.(image)
	return types.Bool(ok && o.registry == i.registry && o.repository == i.repository && o.identifier() == i.identifier())
}

func (i image) Type() ref.Type { return imageType }
func (i image) Value() any     { return i.text }

// imageFunctions declares image(), parseImageReference(), isImage() and what an image can be asked.
func imageFunctions() []cel.EnvOption {
	parse := cel.UnaryBinding(func(arg ref.Val) ref.Val {
		if img, ok := arg.(image); ok {
			return img
		}
		s, ok := arg.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		img, err := parseImage(string(s))
		if err != nil {
			return types.WrapErr(err)
		}
		return img
	})
	out := []cel.EnvOption{
		function("image", []*cel.Type{cel.DynType}, imageType, parse),
		function("parseImageReference", []*cel.Type{cel.DynType}, imageType, parse),
		function("isImage", []*cel.Type{cel.StringType}, cel.BoolType, text1(func(s string) ref.Val {
			_, err := parseImage(s)
			return types.Bool(err == nil)
		})),
	}
	ask := func(name string, result *cel.Type, of func(image) ref.Val) {
		out = append(out, cel.Function(name, cel.MemberOverload("image_"+name, []*cel.Type{imageType}, result,
			unary(of))))
	}
	ask("containsDigest", cel.BoolType, func(i image) ref.Val { return types.Bool(i.digest != "") })
	ask("registry", cel.StringType, func(i image) ref.Val { return types.String(i.registry) })
	ask("repository", cel.StringType, func(i image) ref.Val { return types.String(i.repository) })
	ask("identifier", cel.StringType, func(i image) ref.Val { return types.String(i.identifier()) })
	ask("tag", cel.StringType, func(i image) ref.Val { return types.String(i.tag) })
	ask("digest", cel.StringType, func(i image) ref.Val { return types.String(i.digest) })
	return out
}
