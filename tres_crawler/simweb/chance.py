"""Chance that depends on nothing but its arguments: the same on every machine, in any order of asking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

MASK = (1 << 64) - 1


def mix(*numbers: int) -> int:
    """64 well-stirred bits from some integers (the finaliser of SplitMix64 after each)."""
    state = 0x9E3779B97F4A7C15
    for number in numbers:
        state = (state ^ number) + 0x9E3779B97F4A7C15 & MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
        state ^= state >> 31
    return state


def share(number: int) -> float:
    """A number in [0, 1) from 64 bits."""
    return (number >> 11) * 2.0**-53


def pick(items: Sequence[T], number: int, purpose: int = 0) -> T:
    """One of `items`; other purposes give independent picks from the same number."""
    return items[mix(number, purpose) % len(items)]
