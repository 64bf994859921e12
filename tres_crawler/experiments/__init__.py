"""Measurements that back what the project claims: one file per benchmark, each ends in a Report."""
