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
python -m tres_crawler.simweb.truth requests.jsonl sports --over-time 100 --hosts
```

## How it is built

| module | what it decides |
| --- | --- |
| `chance.py` | draws that depend on nothing but their arguments, so pages can be made in any order |
| `prose.py` | the texts, in three pools (`train`, `tune`, `report`) that share no text of more than a line |
| `sites.py` | kind, topics, size, name and manners of every site |
| `tunnels.py` | hidden regions and the tunnels that lead there |
| `model.py` | what a page is about and where it stands; the truth |
| `links.py` | the links on a page, and how they are dressed |
| `change.py` | the items that pages gain as time goes on |
| `render.py`, `answers.py`, `server.py` | HTML; status, headers and bad manners; HTTP |
| `truth.py` | harvest, sites, repeats, robots obedience, gaps and concurrency per host, from the request log alone |
| `describe.py` | figures and pictures |

A page is on a topic when its own text is: its first paragraph and more than half of all. Hubs (directories), tunnels, link
farms, thin and foreign pages and pages that never answer are not. A copy is a mirror: it has its original's text, links and
news on a site of its own, and counts once with it; a near copy has a few other words. Hidden regions are topical sites that
no page links to but those of the region and the end of a tunnel: two to four pages off the topic on sites off the topic,
with titles, addresses and text like any page about nothing. Each tunnel's start is linked from a few pages on the topic,
partly under words such as "links" or "our friends", which other links bear too.

Large sites are dealt out evenly over the kinds and, within a kind, over the topics, so that a web of another seed is as hard
for every topic. A blind crawler's harvest (TRES, Table 3: 1.66 to 8.97 % for a random one) over 2,000 pages from one seed:

| web | random | breadth-first, same topics |
| --- | --- | --- |
| default, seed 1 | sports 6.1%, food 5.4%, hardware 4.0% | 11.3%, 16.6%, 6.6% |
| default, seed 2 | sports 3.7%, food 4.1%, hardware 6.2% | 13.8%, 13.0%, 8.0% |
| default, seed 3 | sports 9.0%, food 4.1%, hardware 7.3% | 14.8%, 17.1%, 11.9% |
| report 0 | sports 6.1%, food 5.5%, hardware 4.7% | 14.6%, 17.6%, 10.3% |
| report 1 | sports 9.8%, food 5.8%, hardware 4.9% | 16.2%, 16.5%, 13.3% |
| report 2 | sports 4.5%, food 5.4%, hardware 6.0% | 9.5%, 11.6%, 8.3% |
| tune 0 | computers 5.2%, games 4.6%, health 4.9%, recreation 6.8% | 15.5%, 15.7%, 14.5%, 16.8% |
| tune 1 | computers 4.0%, games 6.3%, health 7.9%, recreation 8.6% | 15.4%, 12.4%, 19.3%, 13.8% |
| tune 2 | computers 6.2%, games 7.1%, health 6.2%, recreation 7.1% | 8.6%, 12.6%, 9.8%, 10.0% |

Time stands still unless `--time-scale` says otherwise (3600: an hour a second). Items on a page come by its own process
(Poisson, its rate log-uniform between the two parameters), for some also by one shared with other pages of the site, for
some mostly at one time of day; `change.between` tells the truth about them.

Every answer has a Date in the web's time. The request log starts with a line of parameters, `time_scale` and `started` (the
Unix time of web time 0; `truth.read_start` reads it), then has a line a request: `arrived`, `finished` (Unix seconds), `host`,
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
