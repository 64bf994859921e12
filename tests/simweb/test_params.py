"""Parameters: named and explained when wrong, and never the same for tuning and reporting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.params import FAMILIES, PRESETS, TOPICS, WebParams, family


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_web(preset: str) -> None:
    assert WebParams.of(preset).model_dump() != WebParams.of().model_dump() or preset == "default"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sites": 10, "pages": 5}, "10 sites cannot share 5 pages"),
        ({"dead_links": 1.5}, '"dead_links" is 1.5'),
        ({"dead_link": 0.5}, 'Did you mean "dead_links"?'),
        ({"anchor_generic": 0.7, "anchor_empty": 0.4}, "anchor_generic + anchor_empty + anchor_misleading is 1.15"),
        ({"slowest_change": 3.0, "fastest_change": 1.0}, "swap them"),
        ({"topical": 0, "portals": 0, "blogs": 0, "forums": 0}, "no kind of site with content"),
        ({"rare_topics": {"sport": 0.5}}, 'rare_topics names "sport", which is no topic (Did you mean "sports"?)'),
        ({"rare_topics": dict.fromkeys(TOPICS, 0.0)}, "rare_topics leaves no topic"),
        ({"preset": "nasty"}, 'There is no preset "nasty".'),
    ],
)
def test_a_wrong_parameter_is_named_and_explained(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        WebParams.of(**given)
    assert told in str(refusal.value)


def test_a_file_lies_over_the_preset_and_an_option_over_both(tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    file.write_text('pool = "tune"\nsites = 50\n')
    params = WebParams.of("hard", file, sites=60)
    assert (params.pool, params.sites, params.hidden_sites) == ("tune", 60, PRESETS["hard"]["hidden_sites"])


def test_webs_for_tuning_and_for_reporting_share_neither_seed_nor_prose_nor_topic_nor_parameters() -> None:
    tune, report = FAMILIES["tune"], FAMILIES["report"]
    assert not set(tune["seeds"]) & set(report["seeds"])
    assert not set(tune["topics"]) & set(report["topics"])
    ours = ("seed", "pool")
    webs = {
        name: [family(name, n).model_dump(exclude=set(ours)) for n in range(len(FAMILIES[name]["webs"]))]
        for name in ("tune", "report")
    }
    assert not any(one == other for one in webs["tune"] for other in webs["report"])
    assert {family("tune", n).pool for n in range(6)} == {"tune"}
    assert len({family("report", n).seed for n in range(6)}) == 6
    with pytest.raises(ConfigError, match="no family"):
        family("toy", 0)
