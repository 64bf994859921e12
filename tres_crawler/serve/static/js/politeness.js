// How politely a crawl goes about: which hosts rest, which are left alone, and why links are not asked for.
import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { decimal, duration, number, plural } from "./format.js";
import { figures } from "./figures.js";
import { failed, loading } from "./states.js";

function table(head, rows, none) {
  if (!rows.length) return h("p.muted", {}, none);
  const cells = (row) => row.map((cell, index) => h(index && index === row.length - 1 ? "td.right" : "td", {}, cell));
  return h("div.table-wrap", {}, h("table", {}, h("thead", {}, h("tr", {}, head.map((text, index) => h(index && index === head.length - 1 ? "th.right" : "th", {}, text)))), h("tbody", {}, rows.map((row) => h("tr", {}, cells(row))))));
}

export function show(root, crawl) {
  const told = figures(["Fetches under way", "Hosts resting", "In quarantine", "Given up", "Sites at their cap", "Typical answer"]);
  const place = h("div.stack", {}, loading("300px"));
  root.append(place);

  async function refresh() {
    let hosts;
    try {
      hosts = await get(`/crawls/${crawl.id}/hosts`);
    } catch (error) {
      if (!told.element.isConnected) replace(place, failed(error, refresh));
      return;
    }
    const times = hosts.fetch_times;
    const givenUp = Object.entries(hosts.given_up);
    told.update([
      [number(hosts.in_flight)],
      [number(hosts.resting_total)],
      [number(hosts.quarantined.length)],
      [number(givenUp.length)],
      [number(hosts.sites_full)],
      [times ? decimal(times.median_seconds * 1000, 0) : "–", "ms", times ? `19 of 20 within ${decimal(times.p95_seconds * 1000, 0)} ms` : ""],
    ]);
    const sorted = (counts) => Object.entries(counts).sort((a, b) => b[1] - a[1]);
    replace(
      place,
      told.element,
      h(
        "div.columns",
        {},
        h("section.card", {}, h("h2", {}, "Left alone after trouble"), table(["Host", "Why", "For"], hosts.quarantined.map((host) => [host.host, host.reason, duration(host.seconds)]), "No host is in quarantine."), givenUp.length > 0 && h("h3", {}, "Given up"), givenUp.length > 0 && table(["Host", "Why"], givenUp)),
        h("section.card", {}, h("h2", {}, "Resting hosts"), h("p.small.muted", {}, hosts.resting_total > hosts.resting.length ? `The ${hosts.resting.length} of ${plural(hosts.resting_total, "host")} that rest longest.` : "Between two requests a host is left in peace."), table(["Host", "Until it may be asked"], hosts.resting.slice(0, 15).map((host) => [host.host, host.seconds === null ? "being asked" : `${decimal(host.seconds, 1)} s`]), "No host is resting.")),
        h("section.card", {}, h("h2", {}, "Links not asked for"), table(["Why", "Links"], sorted(hosts.refused).map(([why, count]) => [why, number(count)]), "Nothing was refused so far.")),
        h("section.card", {}, h("h2", {}, "Answers"), table(["HTTP status", "Pages"], sorted(hosts.statuses).map(([status, count]) => [status === "none" ? "no answer" : status, number(count)]), "No answer yet.")),
      ),
    );
  }

  return { refresh, close() {} };
}
