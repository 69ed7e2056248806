"""Data sets of transitions: the object, its card, its audit and its file formats."""
