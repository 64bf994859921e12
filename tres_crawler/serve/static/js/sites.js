// Sites with relevant pages, best first, with what speaks for them.
import { get } from "./api.js";
import { h, redraw, replace } from "./dom.js";
import { number, outside, share, shortUrl } from "./format.js";
import { empty, failed, loading } from "./states.js";
import { clean } from "./text.js";

const AT_ONCE = 50;

function interval(site) {
  const bar = h("span.interval", { title: `${share(site.relevant_share)} of its pages; with 95 % confidence between ${share(site.share_low)} and ${share(site.share_high)}` });
  bar.append(h("i", { style: { left: `${site.share_low * 100}%`, width: `${(site.share_high - site.share_low) * 100}%` } }), h("b", { style: { left: `${site.relevant_share * 100}%` } }));
  return bar;
}

export function siteTable(items, crawl, whole = false) {
  const rows = items.map((site) =>
    h(
      "tr",
      {},
      h("td.right.muted.roomy", {}, number(site.rank)),
      h("td.wide", {}, outside(`http://${site.site}/`, site.site), whole && h("div.small.best", {}, site.best_pages.map((page, index) => [index ? " · " : "", h("a.quiet", { href: crawl.why(page.id) }, clean(page.title) || shortUrl(page.url))]))),
      h("td.right", {}, number(site.relevant_pages), h("span.muted", {}, ` / ${number(site.pages)}`)),
      whole && h("td.roomy", {}, interval(site)),
      h("td.right", {}, share(site.relevant_share, 0)),
    ),
  );
  const head = h("tr", {}, h("th.right.roomy", {}, "#"), h("th", {}, "Site"), h("th.right", {}, "Relevant"), whole && h("th.roomy", {}, "95 % interval"), h("th.right", {}, "Share"));
  return h("div.table-wrap", { tabindex: "0", role: "region", "aria-label": "Sites" }, h("table.site-table", {}, h("thead", {}, head), h("tbody", {}, rows)));
}

export function show(root, crawl) {
  const place = h("div", {}, loading("360px"));
  const more = h("button.button", { type: "button", onclick: () => load(true) }, "Show more");
  root.append(h("section.card", {}, h("div.card-head", {}, h("h2", {}, "Relevant sites"), h("span.small.muted", {}, "Those with the most evidence first: by the lower end of the interval of their relevant share.")), place));
  let items = [];
  let next = null;
  let asked = 0;
  let growing = false;

  async function load(further) {
    const mine = (asked += 1);
    growing = further;
    try {
      const cursor = further && next ? `&cursor=${encodeURIComponent(next)}` : "";
      const answer = await get(`/crawls/${crawl.id}/sites?limit=${AT_ONCE}${cursor}`);
      if (mine !== asked) return;
      items = further ? [...items, ...answer.items] : answer.items;
      next = answer.next;
      if (!items.length) return replace(place, empty("No relevant site yet", "A site counts with its first relevant page."));
      redraw(place, siteTable(items, crawl, true), next && h("div.more", {}, more));
    } catch (error) {
      if (mine === asked && !items.length) replace(place, failed(error, () => load(false)));
    } finally {
      if (mine === asked) growing = false;
    }
  }

  return { refresh: () => (growing || items.length > AT_ONCE ? undefined : load(false)), close() {} };
}
