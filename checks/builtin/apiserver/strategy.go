package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// strategy is how the API server handles the objects of a kind.
type strategy struct {
	registered
	group *group
	// live adds to both versions of an object what the cluster has added since the first was created; nil: nothing that
	// matters.
	live func(now, was runtime.Object)
}

// registered is the part of a kind's storage strategy that prepares and validates an object.
type registered interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// validated is the strategy of a kind whose own package would link the whole API server with its clients and storage.
// It calls the same validations.
type validated struct {
	rest.DeclarativeValidation
	names.NameGenerator
	namespaced bool
	create     func(runtime.Object) field.ErrorList
	update     func(now, was runtime.Object) field.ErrorList
	prepare    func(runtime.Object)                                        // nil: no preparation
	warn       func(ctx context.Context, now, was runtime.Object) []string // was is nil for a creation; nil: no warnings
}

// validate returns the strategy of a kind with an internal type.
func validate[T runtime.Object](namespaced bool, create func(T) field.ErrorList,
	update func(now, was T) field.ErrorList) *validated {
	return &validated{
		DeclarativeValidation: rest.DeclarativeValidation{Scheme: legacyscheme.Scheme},
		NameGenerator:         names.SimpleNameGenerator, namespaced: namespaced,
		create: func(o runtime.Object) field.ErrorList { return create(o.(T)) },
		update: func(now, was runtime.Object) field.ErrorList { return update(now.(T), was.(T)) },
	}
}

// warning sets the function that returns warnings.
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
