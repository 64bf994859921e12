// The pages of a crawl: newest first, filtered, as many as one wants to see.
import { get } from "./api.js";
import { h, keyed, replace } from "./dom.js";
import { share, shortUrl, when } from "./format.js";
import { clean } from "./text.js";
import { empty, failed, loading } from "./states.js";

const AT_ONCE = 40;
const KINDS = [["relevant=true", "Relevant"], ["", "All"], ["relevant=false", "Others"], ["labelled=true", "Labelled"]];

export function chance(page) {
  if (page.outcome !== "judged") return h(page.outcome === "failed" ? "span.chance.trouble" : "span.chance", { title: page.reason }, page.outcome);
  const said = page.label === null || page.label === undefined ? "" : page.label ? ", said a person" : ", a person said no";
  const title = `${page.relevant ? "relevant" : "not relevant"}${said}`;
  return h(page.relevant ? "span.chance.yes" : "span.chance", { title }, share(page.probability, 0), h("span.only-read", {}, ` ${title}`));
}

export function pageRow(page, crawl) {
  return h(
    "li",
    {},
    h(
      "a.row",
      { href: crawl.why(page.id), "data-page": page.id },
      h("span.title", {}, clean(page.title) || shortUrl(page.url)),
      h("span.below", {}, h("span", {}, shortUrl(page.url)), when(page.fetched_at)),
      h("span.side", {}, chance(page)),
    ),
  );
}

export function show(root, crawl) {
  let kind = "relevant=true";
  const list = h("ul.rows");
  const place = h("div", {}, loading("360px"));
  const more = h("button.button", { type: "button", onclick: () => load(true) }, "Show more");
  const search = h("input", { type: "search", placeholder: "Search in titles and URLs", "aria-label": "Search in titles and URLs" });
  const kinds = h("div.segments", { role: "group", "aria-label": "Which pages" }, KINDS.map(([value, label]) => h("button", { type: "button", "aria-pressed": String(value === kind), "data-value": value, onclick: () => choose(value) }, label)));
  let items = [];
  let next = null;
  let asked = 0;
  let growing = false;

  root.append(h("section.card", {}, h("div.filters", {}, kinds, search), place));

  function choose(value) {
    kind = value;
    for (const button of kinds.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    load(false);
  }

  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => load(false), 250);
  });

  function query(cursor) {
    const given = new URLSearchParams(kind);
    given.set("limit", String(AT_ONCE));
    if (search.value.trim()) given.set("q", search.value.trim());
    if (cursor) given.set("cursor", cursor);
    return `/crawls/${crawl.id}/pages?${given}`;
  }

  async function load(further) {
    const mine = (asked += 1);
    growing = further;
    try {
      const answer = await get(query(further ? next : null));
      if (mine !== asked) return;
      items = further ? [...items, ...answer.items] : answer.items;
      next = answer.next;
      if (!answer.items.length && !further) return replace(place, empty(search.value ? "Nothing found" : "No such page yet", search.value ? "Try other words, or look among all pages." : "They appear here as they are fetched."));
      if (!list.isConnected) replace(place, list, h("div.more", {}, more));
      more.classList.toggle("hidden", !next);
      keyed(list, items, (item) => `${item.id} ${item.label} ${item.probability}`, (item) => pageRow(item, crawl));
    } catch (error) {
      if (mine === asked && !list.isConnected) replace(place, failed(error, () => load(false)));
    } finally {
      if (mine === asked) growing = false;
    }
  }

  return {
    // Whoever goes on to older pages is not thrown back to the newest.
    refresh: () => (growing || items.length > AT_ONCE ? undefined : load(false)),
    close() {
      clearTimeout(typing);
    },
  };
}
