"""Solving a formulation, analysing a policy, and the frontier between two aims."""
