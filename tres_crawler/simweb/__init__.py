"""A web of its own on one loopback port, with known truth; the crawler cannot see into it."""
