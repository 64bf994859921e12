// All crawls as cards, and the form that starts one.
import { get } from "./api.js";
import { h, icon, keyed, replace, setText } from "./dom.js";
import { figures, pill, progress, updatePill } from "./figures.js";
import { number, rate, share, when } from "./format.js";
import { eased } from "./live.js";
import { startForm } from "./start.js";
import { empty, failed, loading } from "./states.js";

const EVERY = 2000;

export function showCrawls(main) {
  document.title = "Crawls · tres_crawler";
  const grid = h("ul.crawl-grid");
  const body = h("div", {}, loading("180px"));
  const place = h("div");
  const open = h("button.button.primary", { type: "button", onclick: () => showForm(), "aria-expanded": "false" }, icon("plus"), "New crawl");
  main.append(h("div.page-head", {}, h("div", {}, h("h1", {}, "Crawls")), h("span.spacer"), open), place, body);

  function showForm() {
    if (place.firstChild) return hideForm();
    replace(place, startForm(hideForm));
    open.setAttribute("aria-expanded", "true");
    place.querySelector("input, textarea, select")?.focus();
  }

  function hideForm() {
    replace(place);
    open.setAttribute("aria-expanded", "false");
    open.focus();
  }

  const ask = eased(async () => {
    try {
      const crawls = await everyCrawl();
      if (!crawls.length) return replace(body, nothing(showForm));
      if (!grid.isConnected) replace(body, grid);
      keyed(grid, crawls, (crawl) => crawl.crawl_id, card, (element, crawl) => element.update(crawl));
    } catch (error) {
      replace(body, failed(error, ask));
    }
  }, 500);
  ask();
  const timer = setInterval(ask, EVERY);
  return {
    close() {
      clearInterval(timer);
      ask.close();
    },
  };
}

// Newest first; what runs stands before what has ended.
async function everyCrawl() {
  const found = [];
  let cursor = "";
  do {
    const part = await get(`/crawls?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    found.push(...part.items);
    cursor = part.next;
  } while (cursor);
  const rank = (crawl) => (crawl.state === "running" ? 0 : crawl.state === "paused" ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b) || b.crawl_id - a.crawl_id);
}

function nothing(start) {
  return h(
    "div.card",
    {},
    empty(
      "No crawl yet",
      "Name a topic and where to begin. The crawler learns from what it finds and looks for more of it.",
      h("button.button.primary", { type: "button", onclick: start }, icon("plus"), "Start the first crawl"),
    ),
  );
}

function card(crawl) {
  const state = pill(crawl);
  const bar = progress();
  const told = figures(["Harvest rate", "Pages found", "Sites found", "Speed"]);
  const title = h("h2", {}, crawl.topic);
  const link = h(
    "a.card.crawl-card",
    { href: `#/crawls/${crawl.crawl_id}` },
    h("div.top", {}, title, state),
    bar.element,
    told.element,
    h("div.about", {}, h("span", {}, `Crawl ${crawl.crawl_id}`), h("span", {}, crawl.policy), h("span", {}, "started ", when(crawl.created_at))),
  );
  const element = h("li", {}, link);
  element.update = (now) => {
    setText(title, now.topic);
    updatePill(state, now);
    bar.update(now);
    told.update([
      [share(now.harvest_rate)],
      [number(now.relevant_pages)],
      [number(now.relevant_sites)],
      [rate(now.pages_per_second), "/s"],
    ]);
  };
  element.update(crawl);
  return element;
}
