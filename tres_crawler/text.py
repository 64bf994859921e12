"""Words and fingerprints of texts, as every stage counts them."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
END = re.compile(r"[.!?…](?=\W|$)|[。！？।॥۔؟։።။]")
LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
LOOKED_AT = 20_000
"""Characters by which a text is known."""
FEW_WORDS = 40
"""A text so short may well be a title and a line; whether it has sentences is not asked."""
WORDS_A_SENTENCE = 100
LEAST_FUNCTION_WORDS = 0.2
_FUNCTION_WORDS = """
a about after all also an and any are as at be because been before being but by can could did do does each for from had
has have he her here him his how i if in into is it its just me more most my no not of off on one only or other our out
over own she should so some such than that the their them then there these they this those through to too under until
up us very was we were what when where which while who why will with would you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Of English; other languages have few of them, and are known by their sentences alone."""


def words(text: str) -> list[str]:
    """Lower-case words; digits count as words, signs do not."""
    return WORD.findall(text.lower())


def fingerprint(text: str) -> int:
    """64 bits, signed as databases want them; among 10 million texts two collide with odds of 1 in 400,000."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def has_sentences(text: str) -> bool:
    """Whether a text says something. A page that is stuffed with keywords lists them and says nothing.

    Running text of any kind ends a sentence every 10 to 40 words, and a quarter or more of English consists of words
    that only hold others together (Ntoulas, Najork, Manasse and Fetterly 2006 know spam by such words). Only a text
    that has hardly any of either counts as a list; and one in another script never does, since some end no sentences.
    """
    text = text[:LOOKED_AT]
    if WORDS_A_SENTENCE * len(END.findall(text)) >= len(text.split()) or 2 * len(LATIN.findall(text)) < len(text):
        return True
    found = words(text)
    few = len(found) < FEW_WORDS
    return few or sum(word in FUNCTION_WORDS for word in found) >= LEAST_FUNCTION_WORDS * len(found)


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
