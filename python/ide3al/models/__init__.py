"""Finite Markov decision processes: constructed, read, or enumerated from a simulator."""
