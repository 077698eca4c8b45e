package sandbox

import "os"

// place is a folder that a child was allowed to use. Landlock's rules are for what stood there when they were
// made, and not for the path.
type place struct {
	path string
	info os.FileInfo // nil: there was none
}

// findPlaces notes the folders that a child may use, and makes the one of the cache.
func findPlaces(cfg Config) []place {
	paths := cfg.Repositories
	if cfg.Cache != "" {
		_ = os.MkdirAll(cfg.Cache, 0o700) // without it nothing is kept, which fails no job
		paths = append(paths[:len(paths):len(paths)], cfg.Cache)
	}
	list := make([]place, len(paths))
	for i, path := range paths {
		list[i] = place{path: path, info: stat(path)}
	}
	return list
}

// moved reports whether something else stands there now.
func (p place) moved() bool {
	now := stat(p.path)
	if now == nil || p.info == nil {
		return now != p.info
	}
	return !os.SameFile(now, p.info)
}

func stat(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
