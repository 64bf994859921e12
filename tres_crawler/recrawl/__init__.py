"""Which known page to visit again."""
