"""Where an agent's steps come from, one file for each kind of environment."""
