"""Policies for rewards and goals, in known models and from what was explored."""
