"""Fetched → Document: what a page says and where it leads."""

from tres_crawler.parse.page import parse, parse_page

__all__ = ["parse", "parse_page"]
