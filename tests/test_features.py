"""Links are described with the numbers of the paper, and cheaply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tres_crawler.config import FeatureSettings
from tres_crawler.features import (
    FURTHER,
    FURTHER_SITE,
    NAMED,
    NAMED_SITE,
    Describer,
    Floats,
    Known,
    Numbers,
    PathState,
    SiteRatios,
)
from tres_crawler.finds import names_of
from tres_crawler.records import Outlink

KEYWORDS = ("football", "world cup", "goal")
PAPER, EXTENDED = FeatureSettings(set="paper"), FeatureSettings(set="extended")


def path(*relevant: bool) -> PathState:
    """The path of pages found relevant or not, from the seed on."""
    state: PathState | None = None
    for page in relevant:
        state = PathState.of(state, page)
    assert state
    return state


def numbers(*sites: int) -> Numbers:
    return np.array(sites, np.int64)


def floats(*values: float) -> Floats:
    return np.array(values, np.float32)


def described(
    outlinks: Sequence[Outlink],
    settings: FeatureSettings | None = None,
    state: PathState | None = None,
    sites: Numbers | None = None,
) -> dict[str, list[float]]:
    """The columns of links on a page, by name; the judge holds 0.25 of every anchor, and nothing else is known."""
    describer = Describer(settings or PAPER, KEYWORDS)
    rows = describer.describe(
        state,
        outlinks,
        np.full(len(outlinks), 0.25, np.float32),
        np.zeros(len(outlinks), np.int64) if sites is None else sites,
        Known(),
    )
    assert rows.dtype == np.float32
    assert rows.shape == (len(outlinks), describer.width)
    return {column: rows[:, at].tolist() for at, column in enumerate(describer.columns[: describer.placed])}


# ---- the paper's example ----


def test_figure_1_of_the_paper_gives_its_vector() -> None:
    wikipedia = 7
    known = Known()
    for relevant in (True, True, True, False):
        known.sites.add(wikipedia, relevant)
    link = Outlink("https://en.wikipedia.org/wiki/History_of_art", "the history of art")
    rows = Describer(PAPER, KEYWORDS).describe(path(True, True, False), [link], floats(0.3), numbers(wikipedia), known)
    np.testing.assert_allclose(rows, [[0, 1 / 2, 2 / 3, 0, 0, 0.3, 3 / 4, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("pages", "features"),
    [
        ((True,), (1, 1, 1)),
        ((False,), (0, 0, 0)),
        ((False, True), (1, 1, 1 / 2)),
        ((True, False, False), (0, 1 / 3, 1 / 3)),
        ((True, False, True, False), (0, 1 / 2, 2 / 4)),
        ((False, False, False), (0, 0, 0)),
    ],
)
def test_distance_is_counted_from_the_link_to_the_closest_relevant_page(
    pages: tuple[bool, ...], features: tuple[float, ...]
) -> None:
    assert path(*pages).features() == features


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_path_extended_page_by_page_is_the_path_looked_at_as_a_whole(pages: list[bool]) -> None:
    reward, closeness, ratio = path(*pages).features()
    back = pages[::-1].index(True) + 1 if any(pages) else 0
    assert reward == pages[-1]
    assert closeness == (1 / back if back else 0)
    assert ratio == sum(pages) / len(pages)


def test_without_site_features_six_columns_are_left() -> None:
    columns = described([Outlink("https://a.test/", "a")], FeatureSettings(set="paper", site=False))
    assert list(columns) == [
        *("parent_reward", "inverse_distance", "path_ratio"),
        *("keyword_in_url", "keyword_in_anchor", "anchor_probability"),
    ]


def test_a_seed_has_no_state_but_features_of_its_own() -> None:
    columns = described([Outlink("https://football.test/", "")])
    assert columns["parent_reward"] == columns["inverse_distance"] == columns["path_ratio"] == [0.0]
    assert columns["keyword_in_url"] == [1.0]
    assert columns["anchor_probability"] == [0.25]


# ---- keywords ----


@pytest.mark.parametrize(
    ("url", "hit"),
    [
        ("https://www.football.test/", True),
        ("https://a.test/Football-news", True),
        ("https://a.test/the_world_cup.html", True),
        ("https://a.test/find?q=world%20cup", True),
        ("https://a.test/find?subject=goal", True),
        ("https://a.test/world/records/cup", False),
        ("https://a.test/footballer", False),
        ("https://a.test/", False),
    ],
)
def test_a_keyword_in_the_url_is_a_word_of_host_path_or_query(url: str, hit: bool) -> None:
    assert described([Outlink(url, "")])["keyword_in_url"] == [float(hit)]


def test_the_scheme_is_no_word_of_the_url() -> None:
    describer = Describer(PAPER, ["https"])
    rows = describer.describe(None, [Outlink("https://a.test/", "")], floats(0), numbers(0), Known())
    assert rows[0, describer.columns.index("keyword_in_url")] == 0


def test_a_keyword_in_the_anchor_does_not_stand_for_one_in_the_url() -> None:
    columns = described([Outlink("https://a.test/1", "The World Cup"), Outlink("https://a.test/goal", "a cup")])
    assert columns["keyword_in_anchor"] == [1.0, 0.0]
    assert columns["keyword_in_url"] == [0.0, 1.0]


# ---- sites ----


def test_an_unseen_site_is_half_known_and_half_relevant() -> None:
    columns = described([Outlink("https://a.test/", "a")], sites=numbers(100_000))
    assert (columns["site_ratio"], columns["site_known"]) == ([0.5], [0.5])


def test_a_site_is_known_from_its_first_page_on() -> None:
    ratios = SiteRatios()
    ratios.add(3, relevant=False)
    ratios.add(5_000, relevant=True)
    assert ratios.features(numbers(3, 5_000, 4)).tolist() == [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]


@pytest.mark.parametrize("name", ["paper", "extended"])
def test_refreshing_renews_what_is_known_of_the_site_and_nothing_else(name: str) -> None:
    describer = Describer(FeatureSettings.model_validate({"set": name}), KEYWORDS)
    known = Known()
    links = [Outlink("https://a.test/goal", "goal"), Outlink("https://b.test/", "b")]
    placed = describer.describe(path(True), links, floats(0.9, 0.1), numbers(1, 2), known)
    before = placed.copy()
    known.sites.add(1, relevant=True)
    refreshed = describer.refresh(placed, numbers(1, 2), known)
    np.testing.assert_array_equal(placed, before)
    columns = describer.columns[: describer.placed]
    site = [at for at, column in enumerate(columns) if column.startswith("site_")]
    assert refreshed[:, site[:2]].tolist() == [[1.0, 1.0], [0.5, 0.5]]
    assert all(refreshed[0, site] > placed[0, site])
    others = [at for at in range(describer.placed) if at not in site]
    np.testing.assert_array_equal(refreshed[:, others], placed[:, others])


def test_what_is_learned_of_words_changes_links_that_were_described_before() -> None:
    describer, known = Describer(EXTENDED, KEYWORDS), Known()
    links = [Outlink("https://a.test/recipes/1", "soup"), Outlink("https://b.test/news/1", "council")]
    rows = describer.describe(path(True), links, floats(0.5, 0.5), numbers(1, 2), known)
    word = describer.columns.index("word_probability")
    assert rows[:, word].tolist() == [0.5, 0.5]
    page = describer.describe(path(True), [Outlink("https://c.test/recipes/2", "")], floats(0.5), numbers(3), known)
    describer.learn(page[0], 3, relevant=True, known=known)
    paying, other = describer.refresh(rows, numbers(1, 2), known)[:, word]
    assert paying > 0.5
    assert paying > other


def test_what_other_pages_say_of_a_link_and_its_site_counts_though_it_was_described_before() -> None:
    describer, known = Describer(EXTENDED, KEYWORDS), Known()
    urls = ["https://a.test/1", "https://b.test/2"]
    rows = describer.describe(path(True), [Outlink(url, "") for url in urls], floats(0.2, 0.2), numbers(1, 2), known)
    named = {name: describer.columns.index(name) for name in NAMED + NAMED_SITE}
    before = describer.refresh(rows, numbers(1, 2), known)
    assert [before[0, at] for at in named.values()] == pytest.approx([0, 0, 0.2, 0.5, 0])
    known.finds.add(names_of(urls[1:], numbers(2), floats(1.0), new=0), site=9, relevant=True)
    same, other = describer.refresh(rows, numbers(1, 2), known)
    assert [same[at] for at in named.values()] == pytest.approx([0, 0, 0.2, 0.5, 1])
    assert [other[at] for at in named.values()] == pytest.approx([0.5, 0.5, 1, 0.75, 1])


def test_without_site_features_there_is_nothing_to_refresh() -> None:
    placed = np.ones((3, 6), np.float32)
    describer = Describer(FeatureSettings(set="paper", site=False), KEYWORDS)
    np.testing.assert_array_equal(describer.refresh(placed, numbers(1, 2, 3), Known()), placed)


# ---- the extended set ----


def test_the_extended_set_begins_with_the_papers_columns() -> None:
    paper, extended = Describer(PAPER, ()), Describer(EXTENDED, ())
    assert extended.columns == paper.columns + FURTHER_SITE + FURTHER + NAMED + NAMED_SITE
    assert paper.placed == paper.dim
    assert extended.placed == extended.dim - 5, "what is found out later is not kept with a link"
    assert len({paper.name, extended.name, Describer(FeatureSettings(set="paper", site=False), ()).name}) == 3


def test_without_sites_the_extended_set_has_no_share_of_a_site_either() -> None:
    columns = Describer(FeatureSettings(set="extended", site=False), ()).columns
    assert not any(column.startswith("site") for column in columns)
    assert columns[-4:] == FURTHER + NAMED


def test_a_few_pages_of_a_site_tell_less_than_many() -> None:
    ratios = SiteRatios()
    for _ in range(20):
        ratios.add(1, relevant=True)
        ratios.add(2, relevant=False)
    ratios.add(3, relevant=True)
    many, none, one, unseen = ratios.shares(numbers(1, 2, 3, 4)).tolist()
    assert none < 0.1 < unseen < one < 0.9 < many
    assert unseen == pytest.approx(22 / 43), "what the whole crawl has had so far"


@pytest.mark.parametrize("name", ["paper", "extended"])
def test_every_feature_lies_between_0_and_1(name: str) -> None:
    links = [Outlink("https://football.test/goal/world-cup", "goal football world cup", navigation=True)] * 3
    columns = described(links, FeatureSettings.model_validate({"set": name}), path(True, True), numbers(1, 1, 2))
    assert all(0 <= value <= 1 for values in columns.values() for value in values)


def test_a_page_without_outlinks_has_no_rows() -> None:
    assert set(map(len, described([], EXTENDED, path(True)).values())) == {0}


@pytest.mark.parametrize("settings", [PAPER, FeatureSettings(set="paper", site=False), EXTENDED])
def test_the_simple_rule_orders_links_by_anchor_and_half_the_parents_reward(settings: FeatureSettings) -> None:
    describer = Describer(settings, KEYWORDS)
    links = [Outlink("https://a.test/", "a")] * 2
    rows = np.concatenate(
        [
            describer.describe(path(relevant), links, floats(0.2, 0.6), numbers(1, 1), Known())
            for relevant in (False, True)
        ]
    )
    values = describer.refresh(rows, numbers(1, 1, 1, 1), Known()) @ describer.simple_rule()
    np.testing.assert_allclose(values * 1.5, [0.2, 0.6, 0.7, 1.1], rtol=1e-6)
