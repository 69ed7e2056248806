"""What is followed while data are collected: one policy, or plans made on the way."""
