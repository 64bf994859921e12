"""What every frontier promises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tres_crawler.records import Offer


class Frontier(Protocol):
    """Every waiting link is in exactly one leaf; held hosts offer nothing, and lose nothing.

    A frontier knows no clock and no cap: it is told which hosts are held. Holds are counted, so that a host held
    by its delay and by its site's cap is free again only after both are gone.
    """

    def __len__(self) -> int:
        """How many links wait, held ones included."""

    @property
    def leaves(self) -> int:
        """How many leaves there are."""

    def place(self, links: Iterable[Offer]) -> None:
        """Add links; each goes to its leaf."""

    @property
    def can_offer(self) -> bool:
        """Whether a link of a host that is not held waits."""

    def offer(self) -> list[Offer]:
        """Some links, the best first, none of a held host; nothing is removed."""

    def take(self, offer: Offer) -> None:
        """Remove an offered link for good."""

    def drop(self, host: int) -> int:
        """Remove all links of a host; how many there were."""

    def hold(self, *hosts: int) -> None:
        """Offer no link of `hosts`, each named once, until they are released as often as they were held."""

    def release(self, *hosts: int) -> None:
        """Undo one hold of each."""
