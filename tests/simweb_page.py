"""Makes docs/simweb.md: `python -m tests.simweb_page > docs/simweb.md`; a test keeps the two in step."""

from __future__ import annotations

from tres_crawler.simweb.params import PRESETS, WebParams

HEAD = """# The simulated web

`tres simweb` serves a web of its own on one loopback port: thousands of host names, real HTTP/1.1, pages made when they
are asked for from original prose (CC0, `simweb/prose.card.json`), the same bytes on every machine for the same parameters.
Names end in `.example` or `.test`, so that a crawl that forgets `--connect-to` reaches nobody.

```
tres simweb --port 8099 --write-topics DIR --log requests.jsonl      # serve it; DIR/sports.toml, … have seeds on it
tres simweb --sites 8000 --pages 200000 --describe --plots pictures  # look at it
tres crawl DIR/sports.toml --pages 2000 --connect-to 127.0.0.1:8099
python -m tres_crawler.simweb.truth requests.jsonl sports            # how the crawl really went
```

## How it is built

| module | what it decides |
| --- | --- |
| `chance.py` | draws that depend on nothing but their arguments, so pages can be made in any order |
| `prose.py` | the texts, in three pools (`train`, `tune`, `report`) that share no paragraph |
| `sites.py` | kind, topics, size, name and manners of every site; hidden regions and their tunnels |
| `model.py` | what a page is about and where it stands; the truth |
| `links.py` | the links on a page, and how they are dressed |
| `change.py` | the items that pages gain as time goes on |
| `render.py`, `answers.py`, `server.py` | HTML; status, headers and bad manners; HTTP |
| `truth.py` | harvest, sites, repeats, robots obedience, gaps and concurrency, from the request log alone |
| `describe.py` | figures and pictures |

A page is on a topic when its own text is: hubs (directories), tunnels, link farms, thin and foreign pages and pages that
never answer are not. A copy counts once with its original. Hidden regions are topical sites that no page links to but
those of the region and the end of a tunnel: two to four pages off the topic, whose start is linked from pages on the topic
under words such as "links" or "our friends".

Time stands still unless `--time-scale` says otherwise (3600: an hour a second). Items on a page come by its own process
(Poisson, its rate log-uniform between the two parameters), for some also by one shared with other pages of the site, for
some mostly at one time of day; `change.between` tells the truth about them.

The request log starts with a line of parameters, then has a line a request: `arrived`, `finished` (Unix seconds), `host`,
`path`, `status`, `conditional`.

Webs for choosing settings and webs for reporting differ in seeds, prose, topics and parameters: `params.FAMILIES`.

## Parameters

Set them in a TOML file (`--params FILE`), over a preset (`--preset`), under the command line's own options.
Made from `tres_crawler/simweb/params.py`: `python -m tests.simweb_page > docs/simweb.md`.

"""


def simweb_page() -> str:
    shown = [name for name in PRESETS if name != "default"]
    parts = [
        HEAD,
        f"| parameter | default | {' | '.join(shown)} | meaning |\n| --- | --- |{' --- |' * len(shown)} --- |\n",
    ]
    for name, field in WebParams.model_fields.items():
        values = [str(PRESETS[preset].get(name, "")) for preset in shown]
        meaning = " ".join((field.description or "").split())
        parts.append(f"| `{name}` | {field.default} | {' | '.join(values)} | {meaning} |\n")
    return "".join(parts)


if __name__ == "__main__":
    print(simweb_page(), end="")
