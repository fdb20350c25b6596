package opencode

import "io/fs"

// ours is always true: a cache directory below the user's profile is closed to other users by its ACL.
func ours(fs.FileInfo) bool { return true }
