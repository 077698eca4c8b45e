package githubtest

import (
	"net/http"
	"strconv"
	"strings"
)

// These methods are what owners do to a repository and to the installation. They send no webhooks.

// SetPublic sets whether everybody may read a repository. A new repository is private.
func (s *Server) SetPublic(fullName string, public bool) error {
	return s.change(fullName, func(r *repository) { r.public = public })
}

// RenameRepo renames a repository. The old name redirects to it until another repository has that name.
func (s *Server) RenameRepo(fullName, name string) error {
	return s.change(fullName, func(r *repository) {
		delete(s.repos, strings.ToLower(fullName))
		s.moved[strings.ToLower(fullName)] = r.id
		r.name = name
		s.repos[strings.ToLower(r.fullName())] = r
	})
}

// DeleteRepo deletes a repository.
func (s *Server) DeleteRepo(fullName string) error {
	return s.change(fullName, func(*repository) { delete(s.repos, strings.ToLower(fullName)) })
}

// Uninstall removes the App from an account, and revokes its tokens.
func (s *Server) Uninstall(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tokens {
		if strings.EqualFold(t.installation.account, account) {
			delete(s.tokens, name)
		}
	}
	delete(s.installations, strings.ToLower(account))
}

// RepositoryID returns the ids of a repository and of the App's installation on its owner.
func (s *Server) RepositoryID(fullName string) (repository, installation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.repos[strings.ToLower(fullName)]; r != nil {
		repository = r.id
		if i := s.installations[strings.ToLower(r.owner)]; i != nil {
			installation = i.id
		}
	}
	return repository, installation
}

// visible reports whether a token may know that a repository exists.
func (t *token) visible(r *repository) bool { return r.public || t.covers(r) }

// getRepoByID serves GET /repositories/{id}, to which old names redirect.
func (s *Server) getRepoByID(c *call) {
	id, _ := strconv.ParseInt(c.r.PathValue("id"), 10, 64)
	r := s.repoByID(id)
	if r == nil || !c.token.visible(r) {
		notFound(c)
		return
	}
	c.answer(http.StatusOK, s.repoObject(r))
}
