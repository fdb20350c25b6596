package gitconfig

// Places are the variables by which git works on another repository than the one in which it is, or on another index or store of it: git sets
// them for its hooks and for what a rebase executes. The list is that of git rev-parse --local-env-vars (git 2.39.5), without those that hold
// settings, and with the two that belong to the transport of a push.
var Places = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_QUARANTINE_PATH",
}
