package worktree

const openNoBlock = 0
