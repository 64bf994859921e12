"""Measurements against published cases, run by hand: the cases are not part of the project."""
