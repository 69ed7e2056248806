"""Figures of models, policies, learning curves and partitions."""
