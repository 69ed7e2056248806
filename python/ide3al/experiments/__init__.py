"""Experiments of several algorithms and runs, on this machine or on Ray."""
