package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LayerEnv makes what a Layer needs in it and returns the variables that send the tools there, each in place of one that may be set already.
// self is the absolute path of this binary.
//
// What a tool finds in its layer at first differs: go has all that is in the user's caches and in Warm, checked as go checks a download; maven (3.9),
// gradle and nuget read the user's; most others begin with nothing and fetch what they need. A tool that is not here (cargo, older mavens,
// ccache, sccache, bazel, mix, swift, sbt) reads the user's cache and cannot write it: some then work with what is there, some do not work.
func (r Run) LayerEnv(self string) ([]string, error) {
	layers, err := realPaths(append([]string{r.Layer}, r.Warm...)...)
	if err != nil {
		return nil, err
	}
	env := lookup(r.Environ)
	var add []string
	for _, c := range caches {
		for _, name := range c.moves {
			add = append(add, name+"="+filepath.Join(layers[0], layerName(c.path)))
		}
	}
	if poetry := (cache{env: "POETRY_CACHE_DIR", path: ".cache/pypoetry"}).locate(r.Home, env); poetry != "" && env("POETRY_VIRTUALENVS_PATH") == "" {
		add = append(add, "POETRY_VIRTUALENVS_PATH="+filepath.Join(poetry, "virtualenvs")) // which lie in the cache
	}
	maven := locate(".m2/repository", r.Home, env)
	gradle := (cache{path: ".gradle/caches"}).locate(r.Home, env)
	add = append(add,
		"MAVEN_ARGS="+strings.TrimSpace(env("MAVEN_ARGS")+" -Dmaven.repo.local="+filepath.Join(layers[0], "maven")+" -Dmaven.repo.local.tail="+maven),
		"GRADLE_USER_HOME="+filepath.Join(layers[0], "gradle"), "GRADLE_RO_DEP_CACHE="+gradle,
		"NUGET_PACKAGES="+filepath.Join(layers[0], "nuget"),
		"NUGET_FALLBACK_PACKAGES="+(cache{env: "NUGET_PACKAGES", path: ".nuget/packages"}).locate(r.Home, env),
		"PYTHONPYCACHEPREFIX="+filepath.Join(layers[0], "python"), // in place of __pycache__ in the tree, which any program can fill
		"CCACHE_READONLY=true", "CCACHE_TEMPDIR="+filepath.Join(layers[0], "ccache"), "SCCACHE_LOCAL_RW_MODE=READ_ONLY",
	)
	more, err := r.goEnv(self, layers)
	return append(add, more...), err
}

// layerName is the directory of a cache in a layer.
func layerName(path string) string {
	return strings.Trim(strings.NewReplacer("/", "-", ".", "").Replace(path), "-")
}

// Replace is environ with the variables of add in place of those of the same name.
func Replace(environ, add []string) []string {
	set := map[string]bool{}
	for _, a := range add {
		name, _, _ := strings.Cut(a, "=")
		set[name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return set[name]
	})
	return append(kept, add...)
}

// readSmall is the text of a file of settings; empty when there is none.
func readSmall(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
