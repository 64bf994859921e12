"""A focused-crawler service that learns while it crawls."""

__version__ = "0.1.0"
