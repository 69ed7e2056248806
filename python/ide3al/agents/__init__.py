"""Agents that learn an exploring policy from a Gymnasium environment."""
