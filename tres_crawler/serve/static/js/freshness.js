// Freshness: which known pages are visited again and how fresh they are (GET /crawls/{id}/recrawl).
// A view is a function (root, crawl) → { refresh(), close() }; crawl.js calls refresh whenever the crawl has moved.
import { h } from "./dom.js";
import { empty } from "./states.js";

export function show(root) {
  root.append(h("section.card", {}, empty("No revisits yet", "Once relevant pages are visited again, this shows how fresh they are and which comes next.")));
  return { refresh() {}, close() {} };
}
