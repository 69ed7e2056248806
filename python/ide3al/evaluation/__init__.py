"""What a learned policy does when it is followed, beside what the estimate predicted."""
