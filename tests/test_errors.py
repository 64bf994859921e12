"""The tree that is drawn is the tree that is raised."""

from __future__ import annotations

import pytest

from tres_crawler import errors
from tres_crawler.errors import BadStatus, FetchError, TresError


def drawn_tree() -> list[tuple[int, str]]:
    """(depth, name) of every line of the drawing, from the top down."""
    assert errors.__doc__
    lines = [line for line in errors.__doc__.splitlines()[1:] if line.strip()]
    return [((len(line) - len(line.lstrip())) // 2, line.split()[0]) for line in lines]


def real_tree(root: type[BaseException], depth: int = 0) -> list[tuple[int, str]]:
    below = [child for child in root.__subclasses__() if child.__module__.startswith("tres_crawler")]
    return [(depth, root.__name__), *(row for child in below for row in real_tree(child, depth + 1))]


def test_the_drawn_tree_is_the_class_tree() -> None:
    assert drawn_tree() == real_tree(TresError)


def test_every_exception_of_the_module_is_in_the_tree() -> None:
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert defined == {name for _, name in drawn_tree()}


@pytest.mark.parametrize(
    ("status", "retry"), [(400, False), (403, False), (404, False), (408, True), (410, False), (429, True), (503, True)]
)
def test_only_a_status_that_may_pass_is_worth_a_retry(status: int, retry: bool) -> None:
    assert BadStatus("http://a.test/", status).retry is retry


def test_trouble_with_a_page_names_the_page_and_the_reason() -> None:
    trouble = FetchError("http://a.test/x", "no luck")
    assert str(trouble) == "no luck: http://a.test/x"
    assert (trouble.url, trouble.reason) == ("http://a.test/x", "no luck")
