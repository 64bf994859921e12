"""Words and fingerprints of texts, as every stage counts them."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words(text: str) -> list[str]:
    """Lower-case words; digits count as words, signs do not."""
    return WORD.findall(text.lower())


def fingerprint(text: str) -> int:
    """64 bits, signed as databases want them; among 10 million texts two collide with odds of 1 in 400,000."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class PhraseFinder:
    """Counts given words and phrases in a list of words, in one pass however many there are."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.by_first: dict[str, list[tuple[str, ...]]] = {}
        for parts in dict.fromkeys(tuple(words(phrase)) for phrase in phrases):
            if parts:
                self.by_first.setdefault(parts[0], []).append(parts)

    def count(self, tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
        """How often each phrase stands in `tokens`; those that do not are left out."""
        found: dict[tuple[str, ...], int] = {}
        for at, token in enumerate(tokens):
            for phrase in self.by_first.get(token, ()):
                if len(phrase) == 1 or tuple(tokens[at : at + len(phrase)]) == phrase:
                    found[phrase] = found.get(phrase, 0) + 1
        return found
