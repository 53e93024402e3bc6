"""Work in a checkout of one's own: into a git worktree and out of it."""
