// Freshness: how fresh the known pages are, which is visited next and why, and what was new, highlighted.
import { get, post, send } from "./api.js";
import { h, redraw, replace } from "./dom.js";
import { figures } from "./figures.js";
import { decimal, number, outside, plural, share, shortUrl, when } from "./format.js";
import { empty, failed, loading } from "./states.js";
import { clean } from "./text.js";
import { attempt } from "./toast.js";

const AT_ONCE = 20;
const MODES = { off: "off", share: "a share of the fetches", monitor: "monitor" };

function pageName(item) {
  return [outside(item.url, clean(item.title) || shortUrl(item.url)), h("div.small.muted.best", {}, shortUrl(item.url))];
}

function nextTable(visits) {
  const rows = visits.map((visit) =>
    h(
      "tr",
      {},
      h("td.wide", {}, pageName(visit), h("div.small.why", {}, visit.why)),
      h("td.right.roomy", {}, visit.index === null ? "–" : decimal(visit.index, 4)),
      h("td.right.roomy", {}, share(visit.fresh, 0)),
      h("td.right", {}, visit.due_at ? when(visit.due_at) : "–"),
    ),
  );
  const head = h("tr", {}, h("th", {}, "Page, and why it is its turn"), h("th.right.roomy", {}, "Index"), h("th.right.roomy", {}, "Fresh"), h("th.right", {}, "Due"));
  return h("div.table-wrap", { tabindex: "0", role: "region", "aria-label": "Next visits" }, h("table.next-visits", {}, h("thead", {}, head), h("tbody", {}, rows)));
}

function newsItem(item) {
  // What lies between two pieces was left out, unless one of them is what the other was cut off at.
  const pieces = item.segments.flatMap((piece, index) => [index && !piece.new && !item.segments[index - 1].new ? " … " : " ", piece.new ? h("mark", {}, piece.text) : piece.text]);
  return h("li", {}, h("div.news-head", {}, outside(item.url, clean(item.title) || shortUrl(item.url)), h("span.spacer"), h("span.small.muted", {}, `${share(item.share, 0)} new, `, when(item.at))), h("p.small", {}, "… ", pieces, " …"));
}

export function show(root, crawl) {
  const told = figures(["Sources", "Due now", "Fresh by estimate", "Visits", "Changes per 100 visits", "Retired"]);
  const place = h("div.stack", {}, loading("300px"));
  root.append(place);
  const news = h("ul.news");
  const more = h("button.button", { type: "button", onclick: () => older() }, "Show older");
  let shown = [];
  let reached = false;
  let unwatched = "";

  function drawNews() {
    redraw(news, shown.map(newsItem));
    more.classList.toggle("hidden", reached || shown.length < AT_ONCE);
  }

  async function older() {
    const answer = await get(`/crawls/${crawl.id}/recrawl?count=${AT_ONCE}&before=${shown.at(-1).id}`);
    shown = [...shown, ...answer.news];
    reached = answer.news.length < AT_ONCE;
    drawNews();
  }

  async function watch() {
    await send(`/crawls/${crawl.id}`, { method: "PATCH", body: { recrawl: "monitor" } });
    await post(`/crawls/${crawl.id}/resume`);
    await crawl.ask();
    await refresh();
  }

  function showUnwatched({ state, relevant_pages }) {
    const now = `${state} ${relevant_pages > 0}`;
    if (unwatched === now) return;
    unwatched = now;
    const ended = state !== "running" && state !== "paused";
    const button = ended && relevant_pages > 0 && h("button.button.primary", { type: "button", onclick: (event) => attempt(event.currentTarget, watch) }, "Watch what it found");
    const later = ended ? "" : " It can be begun here when this crawl has ended.";
    replace(place, h("section.card", {}, empty("Known pages are not visited again", `A crawl that keeps watching shows here how fresh its pages are, which comes next, and what is new.${later}`, button)));
  }

  async function refresh() {
    let known;
    try {
      known = await get(`/crawls/${crawl.id}/recrawl?count=${AT_ONCE}`);
    } catch (error) {
      if (!told.element.isConnected) replace(place, failed(error, refresh));
      return;
    }
    if (known.mode === "off" && !known.visits) {
      showUnwatched(crawl.status());
      return;
    }
    const retired = Object.entries(known.retired);
    told.update([
      [number(known.sources), "", `policy ${known.policy}, ${MODES[known.mode]}`],
      [number(known.due)],
      [share(known.fresh, 0), "", "as they were last seen"],
      [number(known.visits), "", known.troubles ? `${plural(known.troubles, "time")} without a usable answer` : ""],
      [known.changes_per_100_visits === null ? "–" : decimal(known.changes_per_100_visits, 1), "", plural(known.changes, "change")],
      [number(retired.reduce((sum, [, count]) => sum + count, 0)), "", retired.map(([why, count]) => `${count} ${why}`).join(", ")],
    ]);
    const last = known.news.at(-1)?.id ?? 0;
    shown = [...known.news, ...shown.filter((item) => item.id < last)];
    if (!news.isConnected) {
      replace(
        place,
        told.element,
        h("section.card", {}, h("div.card-head", {}, h("h2", {}, "What is new"), h("span.small.muted", {}, "Words that were not there at the visit before are marked.")), news, h("div.more", {}, more), h("p.muted.no-news", {}, "No page has been found changed yet.")),
        h("section.card", {}, h("div.card-head", {}, h("h2", {}, "Next visits"), h("span.small.muted", {}, known.price === null ? "" : `A visit must be worth ${decimal(known.price, 4)} at present.`)), h("div.next-place")),
      );
    }
    place.querySelector(".no-news").classList.toggle("hidden", shown.length > 0);
    drawNews();
    redraw(place.querySelector(".next-place"), known.next.length ? nextTable(known.next) : empty("Nothing to visit", "No page is known that is relevant."));
  }

  return { refresh, close() {} };
}
