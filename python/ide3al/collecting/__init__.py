"""Collecting episodes with a policy: strategies, runners and the journal on disk."""
