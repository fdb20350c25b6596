package gitdiff

const nonblock = 0
