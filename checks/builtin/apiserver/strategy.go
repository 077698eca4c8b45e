package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// strategy is how the API server takes the objects of a kind.
type strategy struct {
	registered
	group *group
	// live writes into two versions of an object what the cluster has added to them since the first one was created; nil:
	// nothing that matters.
	live func(now, was runtime.Object)
}

// registered is what Kubernetes registers for a kind: what is done and asked before an object of it is kept.
type registered interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// validated is what is registered for a kind whose own package would link the whole API server, with its clients and
// its storage. It is made of the same validations.
type validated struct {
	rest.DeclarativeValidation
	names.NameGenerator
	namespaced bool
	create     func(runtime.Object) field.ErrorList
	update     func(now, was runtime.Object) field.ErrorList
	prepare    func(runtime.Object)                                        // nil: nothing is changed
	warn       func(ctx context.Context, now, was runtime.Object) []string // was is nil at a creation; nil: of nothing
}

// validate returns what is registered for a kind of an internal type.
func validate[T runtime.Object](namespaced bool, create func(T) field.ErrorList,
	update func(now, was T) field.ErrorList) *validated {
	return &validated{
		DeclarativeValidation: rest.DeclarativeValidation{Scheme: legacyscheme.Scheme},
		NameGenerator:         names.SimpleNameGenerator, namespaced: namespaced,
		create: func(o runtime.Object) field.ErrorList { return create(o.(T)) },
		update: func(now, was runtime.Object) field.ErrorList { return update(now.(T), was.(T)) },
	}
}

// warning adds what the API server warns of.
func (v *validated) warning(warn func(ctx context.Context, now, was runtime.Object) []string) *validated {
	v.warn = warn
	return v
}

// NamespaceScoped implements rest.RESTCreateStrategy, as the methods below do.
func (v *validated) NamespaceScoped() bool { return v.namespaced }

// PrepareForCreate implements rest.RESTCreateStrategy.
func (v *validated) PrepareForCreate(_ context.Context, o runtime.Object) {
	if v.prepare != nil {
		v.prepare(o)
	}
}

// Validate implements rest.RESTCreateStrategy.
func (v *validated) Validate(_ context.Context, o runtime.Object) field.ErrorList { return v.create(o) }

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (v *validated) WarningsOnCreate(ctx context.Context, o runtime.Object) []string {
	return v.WarningsOnUpdate(ctx, o, nil)
}

// Canonicalize implements rest.RESTCreateStrategy.
func (v *validated) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (v *validated) AllowCreateOnUpdate(context.Context) bool { return false }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (v *validated) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (v *validated) ValidateUpdate(_ context.Context, now, was runtime.Object) field.ErrorList {
	return v.update(now, was)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (v *validated) WarningsOnUpdate(ctx context.Context, now, was runtime.Object) []string {
	if v.warn == nil {
		return nil
	}
	return v.warn(ctx, now, was)
}

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (v *validated) AllowUnconditionalUpdate(context.Context) bool { return true }
