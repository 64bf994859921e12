"""Settings: one frozen section per stage, from the environment, then a TOML file, then defaults."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from tres_crawler.caps import parse_site_cap
from tres_crawler.errors import ConfigError
from tres_crawler.explaining import explain, fields_at, nearest, read_toml

logger = logging.getLogger(__name__)

ENV_PREFIX = "TRES_"


def _site_cap_text(value: object) -> str:
    text = str(value).strip().lower()
    parse_site_cap(text)
    return text


def _address_text(value: object) -> str:
    text = str(value)
    host, _, port = text.rpartition(":")
    if text and not (host and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8099")
    return text


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


AnySection = TypeVar("AnySection", bound=Section)


class FetchSettings(Section):
    """How hosts are asked."""

    slots: int = Field(32, ge=1, le=1000)
    """Fetches under way at once, over all hosts."""

    delay_seconds: float = Field(1.0, ge=0, le=3600)
    """Shortest pause between two requests to one host, counted from the end of the first."""

    connect_seconds: float = Field(10.0, gt=0)
    """Longest time to connect."""

    first_byte_seconds: float = Field(20.0, gt=0)
    """Longest time without a byte from the host."""

    timeout_seconds: float = Field(30.0, gt=0)
    """Longest time for one request, from connecting to the last byte."""

    max_received_bytes: int = Field(5_000_000, ge=1000)
    """A page of which more than this comes over the wire is dropped and counted as failed."""

    max_body_bytes: int = Field(10_000_000, ge=1000)
    """The same, after decompression."""

    max_header_bytes: int = Field(32_768, ge=1000)
    """Longest line and longest sum of header lines in an answer."""

    max_crawl_delay_seconds: float = Field(60.0, ge=0)
    """A host whose robots.txt asks for a longer pause than this is left alone."""

    allow_private_addresses: bool = False
    """Whether private, loopback, link-local and other addresses that are not public may be asked."""

    ports: tuple[int, ...] = (80, 443, 8000, 8008, 8080, 8443)
    """Ports that may be asked; an address named by `connect_to` is exempt."""

    proxy: str = ""
    """http://HOST:PORT of a proxy; empty: what HTTP_PROXY, HTTPS_PROXY and NO_PROXY say, if anything."""

    retries: int = Field(2, ge=0, le=10)
    """How often a link is tried again after trouble that may pass (no connection, time-out, 429, 5xx)."""

    connect_to: Annotated[str, BeforeValidator(_address_text)] = ""
    """HOST:PORT that every connection goes to whatever the URL says, Host header kept; empty: off."""

    contact: str = ""
    """A URL or mail address that the user agent names, so that site owners can reach you."""

    obey_robots: bool = True
    """Whether robots.txt is asked for and obeyed. Switch it off only for hosts of your own."""


class CrawlSettings(Section):
    """What one crawl may do."""

    max_pages: int = Field(20_000, ge=1)
    """Page budget: met exactly unless the links run out. TRES, sec. 3.5 uses 20,000."""

    max_per_site: Annotated[str, BeforeValidator(_site_cap_text)] = "100"
    """Most pages of one site (registrable domain): `100`, or `5:2` to fall from 5 to 2 as the budget
    is spent, or `none`. TRES, sec. 3.5 (MAX)."""

    max_depth: int = Field(50, ge=1)
    """Links further than this from a seed are not placed."""

    policy: Literal[
        "tres",
        "tres-paper",
        "tres-async",
        "tree-random",
        "sync",
        "best-first",
        "anchor-first",
        "ache",
        "async",
        "breadth-first",
        "random",
    ] = "tres"
    """Which waiting link is fetched next: `tres`: what the learner values most of what each leaf offers; `best-first`:
    the most promising by anchor and parent. The others are for comparison (docs/papers.md)."""

    objective: Literal["pages", "balanced", "sites"] = "pages"
    """What the learner is rewarded for: all relevant pages alike, or the first of a site more, or that above all."""

    seed: int | None = Field(None, ge=0, lt=2**63)
    """Seed of all random draws; None: a new one each crawl. At one slot it makes a crawl repeatable."""


class RelevanceSettings(Section):
    """What counts as relevant."""

    model: Literal["bilstm", "kwbilstm", "svm", "prior"] = "bilstm"
    """Which judge is trained: the BiLSTM of TRES, its keyword-aware variant, a linear SVM, or none (keywords and word
    vectors alone). docs/relevance.md compares them."""

    anchors: Literal["student", "network"] = "student"
    """Who judges anchor texts: a small model taught by the BiLSTM, or the BiLSTM itself, which takes far longer."""

    words: bool = True
    """Whether a trained network also goes by single words, as an SVM does (docs/decisions/0021); `false` is the BiLSTM
    as TRES has it."""

    vectors: str = ""
    """Word vectors: a word2vec, GloVe or fastText file; empty: those that travel with the package."""

    goal: Literal["f1", "precision", "recall"] = "f1"
    """What the decision threshold is chosen for on held-out labels: F1 of the relevant class, or F0.5 or F2."""

    bootstrap_pages: int = Field(60, ge=0, le=1000)
    """First pages of a crawl, the most promising ones, from which the judge is trained; at most a quarter of the page
    budget, and 0 (or a budget too small for 20 of them) keeps to keywords and word vectors."""

    relearn: bool = True
    """Whether a trained judge is trained again from what a long crawl has met, at 1,500 pages and then at three times
    the pages of the last lesson, up to 20,000: what lies next to a topic is seen only then."""


class UrlSettings(Section):
    """When two URLs are one, and two hosts one site."""

    drop_parameters: tuple[str, ...] = ()
    """Query parameters that are removed from URLs beside the usual ones for tracking (docs/urls.md); `*` at the end
    stands for any ending."""

    private_suffixes: bool = False
    """Whether hosts below a shared name such as github.io are sites of their own."""


class ChooseSettings(Section):
    """How readily a link is fetched now."""

    eagerness: float = Field(0.1, ge=0, le=1)
    """A link is taken if its value is at least (1 - eagerness) times the best that waits, hosts that must rest
    included: 0 waits for the best host, 1 always fetches something. More is faster and finds less
    (docs/decisions/0013)."""

    pages_per_slot: int = Field(8, ge=0, le=1000)
    """A crawl begins with one fetch at a time and may have one more under way for every so many pages it has: the
    first links are chosen best when the pages before them are known. 0: all of `fetch.slots` at once."""


class FrontierSettings(Section):
    """How the Tree-Frontier grows."""

    min_experiences: int = Field(5, ge=2)
    """Experiences a leaf needs to be split. TRES asks for two that differ; the authors' released code for 5."""

    max_depth: int = Field(18, ge=1)
    """A leaf so deep stays whole. TRES has no limit; from the released code."""

    max_leaves: int = Field(10_000, ge=1)
    """Bounds the cost of a choice, which values a link of every leaf (docs/decisions/0008)."""

    draws: int = Field(2048, ge=1)
    """Links that a choice values while there are fewer leaves: as many of each. TRES, Alg. 2 values one of each."""

    shortlist: int = Field(1024, ge=0)
    """The best links of earlier choices, so many at most, that a choice values again (docs/decisions/0023). TRES has
    none: 0."""


class FeatureSettings(Section):
    """What a link looks like to the frontier's tree and to the learner."""

    set: Literal["paper", "extended"] = "extended"
    """Named set of features: the eight of TRES, sec. 2.4.1, or these and seven more that are learned as the crawl goes:
    a steadier share of relevant pages of the site, how links with such words in address and anchor have paid, and what
    all pages that name the link or its site say of it (docs/decisions/0018)."""

    site: bool = True
    """Whether the features of the link's site are among them. TRES leaves them out in its variant NH, which finds
    more sites and fewer pages."""


class LearnSettings(Section):
    """How the value of a link is learned."""

    discount: float = Field(0.3, ge=0, lt=1)
    """Weight of the next step's value; lower prefers pages that pay at once. TRES, sec. 2.7.3 argues for a low value
    and names this one; the authors' released code uses 0.99."""

    target: Literal["paper", "outlinks", "advantage"] = "outlinks"
    """What counts as the next step: the best of the page's outlinks and one link of the tree (TRES, sec. 2.4.2), the
    best of the outlinks alone (the authors' released code), or by how much that is better than the link of the tree."""

    hidden: tuple[PositiveInt, PositiveInt] = (64, 64)
    """Sizes of the two hidden layers. TRES, sec. 2.4.2 names no sizes; the released code has 30 and 15."""

    prior: bool = True
    """Whether an untaught learner starts from the simple rule (anchor probability + half the parent's reward) and
    corrects it; false, as in TRES: from random weights. A policy to begin with brings its own. docs/decisions/0009."""

    start: Literal["shipped", "untaught"] = "shipped"
    """Whether a learner begins with the shipped policy, which was taught the truth of simulated webs of other topics,
    or knows nothing but the simple rule. The shipped one knows the features `extended`; others begin untaught."""

    warm_up: int = Field(60, ge=0)
    """Pages remembered before the first gradient step: of a handful a network learns what is not so."""

    learning_rate: float = Field(1e-3, gt=0, le=1)
    """Step size of Adam; lowered by itself when learning diverges. From the released code."""

    batch: int = Field(60, ge=1, le=4096)
    """Transitions per gradient step. From the released code."""

    replay: int = Field(20_000, ge=1, le=1_000_000)
    """Transitions kept to learn from, the newest. From the released code; 1,000 take about 1 MB."""

    target_every: int = Field(500, ge=1)
    """Gradient steps between two copies of the online network into the target network. From the released code."""

    loss: Literal["huber", "squared"] = "huber"
    """Error that is made small: squared (TRES, sec. 2.4.2), or the same up to 1 and linear beyond, which keeps a few
    wild targets from undoing what was learned."""

    clip: float = Field(1.0, gt=0)
    """Greatest norm of a gradient; longer ones are shortened to it. The released code clips single values at 1."""

    weight_decay: float = Field(1.0, ge=0, le=100)
    """How strongly weights are drawn back, in proportion to the learning rate, to what they were when learning began:
    what a network makes of a few hundred pages is mostly chance (docs/decisions/0017). TRES has none."""

    steps_per_page: float = Field(1.0, ge=0, le=100)
    """Gradient steps per fetched page, taken beside the crawl, as in TRES, Alg. 4; the released code takes a third.
    Four find no more (docs/decisions/0017)."""

    random_pages: int = Field(0, ge=0)
    """Pages at the start that are chosen at random. The released code takes 300 or 500; with a prior they cost
    harvest and teach little."""

    epsilon: float = Field(0.01, ge=0, le=1)
    """Share of later choices made at random; the released code has none. On a prototype .01 was a point of harvest
    ahead of .05."""

    def exploration(self, pages: int) -> float:
        """The chance that the next choice is random when so many pages have been fetched."""
        return 1.0 if pages < self.random_pages else self.epsilon


RecrawlPolicy = Literal[
    "whittle",
    "ephemeral",
    "uniform",
    "round-robin",
    "fixed",
    "multiplicative",
    "greedy",
    "thompson",
    "whittle-exact",
    "whittle-neighbours",
    "ephemeral-learned",
    "thompson-printed",
    "thompson-importance",
    "static",
    "lspe",
    "fg-dqn",
    "dqn",
    "thompson-then-fg-dqn",
    "graph-ddqn",
    "exp3",
    "active-covering",
]


RecrawlMode = Literal["off", "share", "monitor"]


class RecrawlSettings(Section):
    """Which known pages are visited again, and how often. docs/recrawl.md."""

    mode: RecrawlMode = "off"
    """`share`: some of the fetches go to pages that were found relevant; `monitor`: the same, and when there is nothing
    left to discover the crawl stays up and visits them again until it is stopped."""

    share: float = Field(0.2, gt=0.0, le=0.9)
    """Share of the fetches that go to known pages while new ones are discovered."""

    visits_per_minute: float = Field(60.0, gt=0.0, le=1e6)
    """Visits when there is nothing left to discover; hosts are asked no faster than at any other time."""

    policy: RecrawlPolicy = "whittle"
    """Who comes next. `whittle`: the change-detection index; `ephemeral`: that of Whittle 2018, for topics whose items
    lose interest; the others are for comparison (docs/recrawl.md), and those behind `thompson` rank all sources at
    every choice: they are meant for some thousands at most."""

    least_gap_seconds: float = Field(3600.0, ge=0.0)
    """No page is visited again sooner than this."""

    most_age_seconds: float = Field(30 * 86_400.0, gt=0.0)
    """No page is left alone for much longer than this, as far as one visit in ten for that reason suffices."""

    interval_seconds: float = Field(86_400.0, gt=0.0)
    """Of the policy `fixed` between two visits, and of `multiplicative` before the second."""

    first_gap_seconds: float = Field(7 * 86_400.0, gt=0.0)
    """Time between two changes of a page that is expected before anything is known of its like."""

    half_life_seconds: float = Field(7 * 86_400.0, gt=0.0)
    """Time in which what is new loses half its interest, for `ephemeral`; a topic may set its own (`[recrawl]`), and
    pages that drop their news sooner or later correct it."""

    @model_validator(mode="after")
    def _gap_below_age(self) -> RecrawlSettings:
        if self.least_gap_seconds > self.most_age_seconds:
            raise ValueError("least_gap_seconds is above most_age_seconds: no page could ever be visited again")
        return self


class StoreSettings(Section):
    """Where things are kept."""

    url: str = ""
    """SQLAlchemy URL of the database; empty: `tres.db` in the data directory."""

    content: Literal["none", "text", "warc"] = "none"
    """What is kept of pages beside their figures: nothing, their text, or whole exchanges in WARC files."""


class ServeSettings(Section):
    """The web service."""

    host: str = "127.0.0.1"
    """Address to listen on; anything but loopback demands a token."""

    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""

    token: str = ""
    """Bearer token that the API asks for; empty: none, allowed on loopback only."""

    topics_dir: str = ""
    """Folder of topic files; at start every one that has no crawl yet gets one. Empty: off."""

    slots: int = Field(64, ge=1, le=10_000)
    """Fetches under way at once over all crawls, which share them evenly; so many crawls may run at most."""

    hosts: tuple[str, ...] = ()
    """Names by which the service may be called (Host header), beside loopback names and `serve.host`. Requests under
    other names are refused, so that no web page can reach the service through a name of its own."""

    max_body_bytes: int = Field(1_000_000, ge=1000)
    """Longest request body."""

    webhooks: tuple[str, ...] = ()
    """Addresses that are told of every new relevant site and every changed source, by POST (docs/api.md)."""

    webhook_secret: str = ""
    """Signs what is sent to webhooks (HMAC-SHA256); needed where there are any."""

    webhook_private_addresses: bool = False
    """Whether webhooks may be at private, loopback and other addresses that are not public."""


class LogSettings(Section):
    """What is logged, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "warning"
    """Least level shown; `info` tells one line per step."""

    format: Literal["text", "json"] = "text"
    """One JSON object a line suits a log collector."""


class Settings(BaseSettings):
    """All sections; built once, each component is handed only its own."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    fetch: FetchSettings = FetchSettings()
    crawl: CrawlSettings = CrawlSettings()
    relevance: RelevanceSettings = RelevanceSettings()
    choose: ChooseSettings = ChooseSettings()
    frontier: FrontierSettings = FrontierSettings()
    urls: UrlSettings = UrlSettings()
    features: FeatureSettings = FeatureSettings()
    learn: LearnSettings = LearnSettings()
    recrawl: RecrawlSettings = RecrawlSettings()
    store: StoreSettings = StoreSettings()
    serve: ServeSettings = ServeSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Environment over `path` over defaults; whatever is wrong is named in a ConfigError."""
        given = read_toml(path, ConfigError) if path else {}
        _refuse_unknown_variables(os.environ)
        try:
            return cls(**given)
        except ValidationError as error:
            where = f"{path} or the environment" if path else "the environment"
            raise ConfigError(f"Wrong settings in {where}. {explain(error, cls)}") from error

    @classmethod
    def kept(cls, sections: Mapping[str, Mapping[str, Any]]) -> Settings:
        """As they were kept with a crawl, whatever the environment says by now; one that is gone meanwhile is left."""
        fields = cls.model_fields.items()
        return cls.model_construct(
            **{name: _kept(field.default, name, sections.get(name, {})) for name, field in fields}
        )

    def replaced(self, section: str, values: Mapping[str, Any]) -> Settings:
        """A copy with `values` laid over one section, checked like all others; None leaves a value as it is."""
        before = getattr(self, section)
        after = overlaid(before, section, values)
        return self if after is before else self.model_copy(update={section: after})


def overlaid(section: AnySection, name: str, values: Mapping[str, Any]) -> AnySection:
    """A section with the values that are not None laid over it; trouble is a ConfigError."""
    given = {field: value for field, value in values.items() if value is not None}
    if not given:
        return section
    try:
        return type(section)(**{**section.model_dump(), **given})
    except ValidationError as error:
        raise ConfigError(explain(error, type(section), name)) from error


def _kept(section: AnySection, name: str, values: Mapping[str, Any]) -> AnySection:
    """A section as another version may have kept it."""
    known = {field: value for field, value in values.items() if field in type(section).model_fields}
    for field in values.keys() - known.keys():
        _tell_gone(f"{name}.{field}")
    try:
        return type(section)(**known)
    except ValidationError as error:
        raise ConfigError(f"Wrong settings kept with a crawl. {explain(error, type(section), name)}") from error


@cache
def _tell_gone(setting: str) -> None:
    """Once: a service reads what is kept whenever somebody looks."""
    logger.warning("crawls are kept with a setting that there is no more, and do without it: %s", setting)


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    valid = {
        f"{ENV_PREFIX}{section}__{field}".upper()
        for section in Settings.model_fields
        for field in fields_at(Settings, [section])
    }
    for name in environ:
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in valid:
            raise ConfigError(f"Unknown environment variable {name}.{nearest(name.upper(), valid)}")
