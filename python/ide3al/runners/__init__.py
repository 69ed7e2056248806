"""Runners of episodes: one environment, vectorised environments, and Ray."""
