"""Tools that keep the model's list of work: TodoWrite, or TaskCreate, TaskGet, TaskUpdate and TaskList."""
