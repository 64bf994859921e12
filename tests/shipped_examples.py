"""Makes models/examples.xz and its card: `python -m tests.shipped_examples`.

Pages of two to five paragraphs, labelled by topic, from the `train` pool of the project's own prose: what shipped
topics learn from, and what a judge knows of the rest of the world. The other two pools are never shown to a judge.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

from tres_crawler.simweb import prose

MODELS = Path(__file__).parent.parent / "models"
PAGES_PER_TOPIC = 60
OTHER_PAGES = 120
STRAY = 0.15
"""Chance that a paragraph of a page is about nothing in particular, as on real pages."""


def pages() -> Iterator[dict[str, str]]:
    pool = prose.load("train")
    common = [text for kind, texts in sorted(pool.common.items()) for text in texts if kind == "background"]
    for topic in pool.topics:
        rng = Random(topic.name)
        for number in range(PAGES_PER_TOPIC):
            facet = rng.choice(topic.facets)
            others = [part for other in topic.facets for part in other.paragraphs]
            chosen = [rng.choice(facet.paragraphs)]
            for _ in range(rng.randint(1, 4)):
                chosen.append(rng.choice(common if rng.random() < STRAY else others))
            text = "\n".join(dict.fromkeys(part.fill(number) for part in chosen))
            yield {"topic": topic.name, "title": rng.choice(facet.titles).fill(number), "text": text}
    rng = Random("none")
    for number in range(OTHER_PAGES):
        chosen = rng.sample(common, rng.randint(2, 4))
        title = rng.choice(pool.neutral_titles).fill(number)
        yield {"topic": "none", "title": title, "text": "\n".join(part.fill(number) for part in chosen)}


def main() -> None:
    rows = list(pages())
    path = MODELS / "examples.xz"
    path.write_bytes(lzma.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode(), preset=9))
    body = path.read_bytes()
    card = {
        "name": "Labelled example pages",
        "file": path.name,
        "sha256": sha256(body).hexdigest(),
        "bytes": len(body),
        "pages": len(rows),
        "format": 'xz of JSON, one object a line: topic ("none" for pages about nothing in particular), title, text.',
        "origin": "Written for this project (the simulated web's train pool); nothing is taken from elsewhere.",
        "made_by": "python -m tests.shipped_examples",
        "licence": "CC0-1.0",
    }
    path.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"{path}: {len(rows)} pages, {len(body):,} bytes")


if __name__ == "__main__":
    main()
