"""The hosts and sites of one crawl, numbered, and how many pages each site has been charged."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tres_crawler.caps import SiteCap
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.urls import host_of, site_of


class Places:
    """No site is charged more pages than its cap; links of a full site stay in the frontier, their hosts held.

    A site is charged when a link is chosen, so fetches in flight count; what turns out to cost nothing is refunded.
    """

    def __init__(self, cap: SiteCap | None, frontier: Frontier, private_suffixes: bool = False) -> None:
        self.names: list[str] = [""]
        self.site_names: dict[int, str] = {}
        self.unsaved_sites: list[tuple[int, str]] = []
        self.unsaved_hosts: list[tuple[int, str, int]] = []
        self._cap = cap
        self._limit = cap.start if cap else None
        self._frontier = frontier
        self._private_suffixes = private_suffixes
        self._site_of_host = array("i", [0])
        self._host_numbers: dict[str, int] = {}
        self._site_numbers: dict[str, int] = {}
        self._hosts_of_site: defaultdict[int, list[int]] = defaultdict(list)
        self._charged: defaultdict[int, int] = defaultdict(int)
        self._full: set[int] = set()
        self._in_full_site = bytearray(1)
        """For each host, 1 if its site is full."""

    def restore(self, sites: Iterable[tuple[int, str]], hosts: Iterable[tuple[int, str, int]]) -> None:
        self.site_names = dict(sites)
        self._site_numbers = {name: number for number, name in self.site_names.items()}
        for number, name, site in sorted(hosts):
            assert number == len(self.names), "hosts are numbered without gaps"
            self._add_host(name, site)

    def host(self, url: str) -> int:
        """The number of a URL's host; a new one is numbered and waits in `unsaved_hosts`."""
        name = host_of(url)
        known = self._host_numbers.get(name)
        if known is None:
            site = self._site(site_of(name, self._private_suffixes))
            known = self._add_host(name, site)
            self.unsaved_hosts.append((known, name, site))
        return known

    def site(self, host: int) -> int:
        return self._site_of_host[host]

    def sites(self, hosts: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The numbers of many hosts' sites."""
        return np.frombuffer(self._site_of_host, np.int32)[hosts].astype(np.int64)

    def knows(self, name: str) -> bool:
        """Whether a host of this name was ever seen."""
        return name in self._host_numbers

    @property
    def full_sites(self) -> int:
        """How many sites have reached their cap."""
        return len(self._full)

    def is_full(self, site: int) -> bool:
        return site in self._full

    def are_full(self, hosts: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Of many hosts, which are of full sites."""
        return np.frombuffer(self._in_full_site, np.bool_)[hosts]

    def charge(self, site: int) -> None:
        self._charged[site] += 1
        self._update(site)

    def refund(self, site: int) -> None:
        self._charged[site] -= 1
        self._update(site)

    def set_cap(self, cap: SiteCap | None, spent: float) -> None:
        """Hold sites to another cap from now on."""
        self._cap = cap
        self.tighten(spent)

    def tighten(self, spent: float) -> None:
        """Apply the cap that holds when a share `spent` of the page budget is used up."""
        limit = self._cap.at(spent) if self._cap else None
        if limit != self._limit:
            self._limit = limit
            for site in self._charged:
                self._update(site)

    def _site(self, name: str) -> int:
        known = self._site_numbers.get(name)
        if known is None:
            known = self._site_numbers[name] = len(self._site_numbers) + 1
            self.site_names[known] = name
            self.unsaved_sites.append((known, name))
        return known

    def _add_host(self, name: str, site: int) -> int:
        number = len(self.names)
        self.names.append(name)
        self._host_numbers[name] = number
        self._site_of_host.append(site)
        self._hosts_of_site[site].append(number)
        self._in_full_site.append(site in self._full)
        if site in self._full:
            self._frontier.hold(number)
        return number

    def _update(self, site: int) -> None:
        full = self._limit is not None and self._charged[site] >= self._limit
        if full == (site in self._full):
            return
        hosts = self._hosts_of_site[site]
        for host in hosts:
            self._in_full_site[host] = full
        if full:
            self._full.add(site)
            self._frontier.hold(*hosts)
        else:
            self._full.remove(site)
            self._frontier.release(*hosts)
