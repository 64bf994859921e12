"""The topics that a crawl can be started on by name: those shipped, and the files of the topics folder."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from tres_crawler.config import Settings
from tres_crawler.errors import TopicError
from tres_crawler.serve.common import WithSettings, known_caller
from tres_crawler.serve.problems import documented
from tres_crawler.topic import load_topic, shipped_topics

router = APIRouter(prefix="/api/v1", tags=["steer"], dependencies=[Depends(known_caller)], responses=documented(401))


class TopicItem(BaseModel):
    """A topic by name."""

    name: str = Field(description="Give this as `topic` to start a crawl on it.")
    keywords: list[str]
    seeds: list[str]
    error: str | None = Field(description="Why its file cannot be used; null if it can.")


@router.get("/topics")
def topics(settings: WithSettings) -> list[TopicItem]:
    """The topics that can be named when a crawl is started."""
    return [_item(name, path) for name, path in sorted(known_topics(settings).items())]


def known_topics(settings: Settings) -> dict[str, Path]:
    """The file of every topic by its name."""
    folder = settings.serve.topics_dir
    own = {path.stem: path for path in Path(folder).glob("*.toml")} if folder else {}
    return {**shipped_topics(), **own}


def _item(name: str, path: Path) -> TopicItem:
    try:
        topic = load_topic(path)
    except TopicError as error:
        return TopicItem(name=name, keywords=[], seeds=[], error=str(error))
    return TopicItem(name=name, keywords=list(topic.keywords), seeds=list(topic.seeds), error=None)
