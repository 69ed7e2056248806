"""From observations and actions of an environment to numbered states and actions."""
