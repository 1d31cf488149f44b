"""Recording from Python: sessions, schedules, functions, other processes. Public names are in `rankscope` itself."""
