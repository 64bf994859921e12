"""The shapes of answers, as the OpenAPI document describes them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from tres_crawler.records import CrawlState, Outcome, Summary

Item = TypeVar("Item")

Share = Annotated[float, Field(ge=0, le=1)]


class Strict(BaseModel):
    """A body that is refused if it names anything unknown, or has a text that is none."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _can_be_written(cls, given: Any) -> Any:
        """JSON may escape one half of a character alone, which can neither be stored nor answered."""
        try:
            json.dumps(given, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            raise ValueError("a text has half a character (a lone surrogate, such as \\ud800)") from error
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return given


class Page(BaseModel, Generic[Item]):
    """A part of a list, and how to get the next one."""

    items: list[Item]
    next: str | None = Field(description="Give this as `cursor` to get what follows; null at the end.")


@dataclass(frozen=True, kw_only=True)
class CrawlStatus(Summary):
    """A crawl's state and figures."""

    state: CrawlState
    stop_detail: str | None = Field(description="What happened, where the reason alone does not say it.")
    advice: str = Field(description="What to do about the stop reason; empty if nothing.")
    max_pages: int
    max_per_site: str
    objective: str
    created_at: datetime
    is_learning_topic: bool = Field(description="Whether it waits for its first judge to be trained.")
    latest_url: str = Field(description="Asked for last; empty if it does not run.")


class PageItem(BaseModel):
    """A fetched page."""

    id: int = Field(description="Counts the pages of one crawl from 1.")
    url: str
    title: str
    site: str
    host: str
    depth: int = Field(description="Links from the seed.")
    source: int | None = Field(description="Page its link was found on; null for a seed.")
    anchor: str
    outcome: Outcome
    reason: str | None
    status: int | None = Field(description="Of HTTP; null if no answer came.")
    relevant: bool
    probability: float | None = Field(description="That it is relevant, by the judge; null if it was not judged.")
    judge_version: int | None
    label: bool | None = Field(description="What a person said of it; it stands above the judge.")
    fetched_at: datetime


class PathStep(BaseModel):
    """A page on the way from the seed."""

    id: int
    url: str
    title: str
    relevant: bool
    anchor: str = Field(description="Words of the link that led to it; empty for a seed.")


class FeatureValue(BaseModel):
    """One of the numbers by which links are told apart."""

    name: str
    value: float = Field(description="When the link was chosen.")
    placed: float | None = Field(
        description="When it was found; the tree goes by this one. Null for what is only found out later."
    )


class Choice(BaseModel):
    """Why a link was fetched and no other."""

    how: Literal["seed", "value", "chance", "promise", "order"] = Field(
        description="`seed`: a person named it; `value`: the learner, or another score, put it first; `chance`: "
        "exploration; `promise`: by anchor and parent, as while bootstrapping; `order`: it was its turn, or drawn."
    )
    value: float | None = Field(description="What the learner held of it; null where none was asked.")
    leaf: int | None = Field(description="Leaf of the tree that offered it; null without a tree.")
    rules: list[str] = Field(description="What is true of all links of that leaf.")
    explored: bool
    promise: float = Field(description="Probability of its anchor and half the reward of its page; 2 for a seed.")
    learner_version: int | None
    features: list[FeatureValue]


class Judged(BaseModel):
    """What one version of the judge held of a page."""

    version: int
    probability: float
    relevant: bool


class LedTo(BaseModel):
    """What came of the links that were first seen on a page."""

    links: int
    waiting: int
    refused: int
    fetched: int
    relevant: int
    pages: list[PathStep] = Field(description="Of those fetched, the 20 most relevant.")


class Why(PageItem):
    """A page, how the crawl came to fetch it, and what that led to."""

    path: list[PathStep] = Field(description="From the seed to this page.")
    choice: Choice
    redirects: int
    attempts: int
    duplicate_of: int | None
    outlinks: int
    earlier_judgements: list[Judged]
    led_to: LedTo


class BestPage(BaseModel):
    """A relevant page that speaks for its site."""

    id: int
    url: str
    title: str
    probability: float | None
    fetched_at: datetime


class SiteItem(BaseModel):
    """A site with at least one relevant page, and what speaks for it."""

    rank: int
    site: str
    pages: int
    relevant_pages: int
    relevant_share: Share
    share_low: Share = Field(description="The share is at least this, with 95 % confidence (Wilson).")
    share_high: Share
    best_pages: list[BestPage]


class MetricPoint(BaseModel):
    """A crawl after so many pages."""

    pages: int
    at: datetime
    seconds: float | None = Field(description="Time spent running; null where it was not noted.")
    relevant_pages: int
    harvest_rate: Share
    harvest_rate_last: Share = Field(description="Of the last 200 pages.")
    sites: int
    relevant_sites: int
    failed: int
    pages_per_second: float | None = Field(description="Since the point before.")
    waiting: int | None
    leaves: int | None


class RandomReference(BaseModel):
    """An estimate, by the texts of the links found, of what drawing links at random would harvest (docs/api.md)."""

    harvest_rate: Share
    low: Share = Field(description="Real random crawls lay between this share and `high`, wherever that was measured.")
    high: Share
    links: int = Field(description="Links in the sample.")


class Metrics(BaseModel):
    """A crawl over its pages, in at most as many points as asked for, the newest last."""

    crawl_id: int
    every: int = Field(description="Pages between two points; the last may be closer.")
    points: list[MetricPoint]
    random_reference: RandomReference | None = Field(description="Null while too few pages are there to tell.")


class TreeNode(BaseModel):
    """A node of the Tree-Frontier with sums and means of the leaves below it."""

    id: int
    parent: int | None
    depth: int
    feature: str | None = Field(description="What it asks for; null for a leaf.")
    threshold: float | None
    left: int | None = Field(description="Where links go whose feature is below the threshold.")
    right: int | None
    collapsed: bool = Field(description="It has children that were left out (`depth`).")
    leaves: int
    links: int = Field(description="Links that wait.")
    experiences: int = Field(description="Pages fetched of its links.")
    mean_reward: float | None
    value: float | None = Field(description="Mean of what the learner holds of some waiting links of each leaf.")


class Tree(BaseModel):
    """The Tree-Frontier; a policy without one has no nodes."""

    crawl_id: int
    policy: str
    features: list[str]
    leaves: int
    links: int
    nodes: list[TreeNode]


class RestingHost(BaseModel):
    """A host that is let rest."""

    host: str
    seconds: float | None = Field(description="Until it may be asked again; null while a request is under way.")


class QuarantinedHost(BaseModel):
    """A host that is left alone after repeated trouble."""

    host: str
    seconds: float
    troubles: int
    reason: str


class FetchTimes(BaseModel):
    """How long answers took, over the newest 1,000 pages."""

    mean_seconds: float
    median_seconds: float
    p75_seconds: float
    p95_seconds: float


class Hosts(BaseModel):
    """How politely a crawl goes about, and what it leaves alone."""

    crawl_id: int
    in_flight: int = Field(description="Fetches under way.")
    resting_total: int
    resting: list[RestingHost] = Field(description="Of those, the 50 that rest longest.")
    quarantined: list[QuarantinedHost]
    given_up: dict[str, str] = Field(description="Host → why nothing of it is asked for any more.")
    sites_full: int = Field(description="Sites that have reached their cap.")
    refused: dict[str, int] = Field(description="Links that are not asked for, by reason.")
    statuses: dict[str, int] = Field(description="Pages by HTTP status; `none`: no answer came.")
    fetch_times: FetchTimes | None


class Event(BaseModel):
    """What an event stream carries as `data`."""

    at: datetime
    detail: dict[str, Any]
