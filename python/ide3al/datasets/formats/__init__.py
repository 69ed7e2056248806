"""Formats of data sets: one file each, and one line in the registry."""
