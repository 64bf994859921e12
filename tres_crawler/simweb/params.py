"""The parameters of a simulated web."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tres_crawler.config import explain
from tres_crawler.errors import ConfigError

Rate = Field(ge=0.0, le=1.0)


class WebParams(BaseModel):
    """Everything that a web depends on: equal parameters give equal bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    sites: int = Field(1000, ge=1, le=1_000_000)
    """How many sites there are."""

    pages: int = Field(50_000, ge=1, le=100_000_000)
    """How many pages there are over all sites."""

    seed: int = Field(1, ge=0)
    """Another seed is another web of the same kind."""

    pool: Literal["train", "tune", "report"] = "report"
    """Which third of the prose its pages show."""

    size_exponent: float = Field(0.9, ge=0.0, le=2.0)
    """How unequal sites are: the site of rank r has pages in proportion to r to the power of minus this."""

    on_topic: float = Rate
    """Share of a topical site's pages that are on its topic."""

    links_inside: float = Rate
    """Share of content links that stay on the site."""

    same_topic_inside: float = Rate
    """Chance that a content link within a site leads to a page of the same topic on purpose."""

    same_topic_across: float = Rate
    """Chance that a content link to another site leads to a page of the same topic on purpose."""

    anchor_generic: float = Rate
    """Share of content links whose anchor says nothing."""

    anchor_empty: float = Rate
    """Share of content links without any words (an image)."""

    dead_links: float = Rate
    """Share of content links to pages that do not exist."""

    error_pages: float = Rate
    """Share of pages that always answer 500."""

    redirects: float = Rate
    """Share of content links that lead through a redirect."""

    robots_sites: float = Rate
    """Share of sites whose robots.txt forbids a folder."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**DEFAULTS, **given})

    @model_validator(mode="after")
    def _each_site_has_a_page(self) -> WebParams:
        if self.sites > self.pages:
            raise ValueError(f"{self.sites} sites cannot share {self.pages} pages: a site has at least one")
        return self

    @classmethod
    def checked(cls, **given: Any) -> WebParams:
        """As the constructor, with trouble told as a ConfigError."""
        try:
            return cls(**given)
        except ValidationError as error:
            raise ConfigError(f"Wrong parameters of the simulated web. {explain(error, cls)}") from error


DEFAULTS: Mapping[str, float] = {
    "on_topic": 0.8,
    "links_inside": 0.55,
    "same_topic_inside": 0.6,
    "same_topic_across": 0.5,
    "anchor_generic": 0.25,
    "anchor_empty": 0.08,
    "dead_links": 0.02,
    "error_pages": 0.01,
    "redirects": 0.03,
    "robots_sites": 0.2,
}
