"""url → Fetched: one polite GET."""
