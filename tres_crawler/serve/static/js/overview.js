// One crawl at a glance: charts over its pages, the newest relevant pages, the best sites.
import { get } from "./api.js";
import { clear, colour, draw, line } from "./charts.js";
import { h, keyed, redraw, replace } from "./dom.js";
import { share } from "./format.js";
import { pageRow } from "./pages.js";
import { siteTable } from "./sites.js";
import { empty, failed, loading } from "./states.js";

const POINTS = 300;
const NEWEST = 8;
const BEST = 8;
const SMOOTH = 5;

function chartCard(title, legend, tall) {
  const chart = h(`div.chart.skeleton${tall ? ".tall" : ""}`, { role: "img", "aria-label": title });
  const key = h("div.legend", {}, legend.map(([text, tint, dash]) => h("span", {}, h(dash ? "i.dash" : "i", { style: { "--colour": `var(--${tint})` } }), text)));
  return { chart, key, element: h("section.card", {}, h("div.card-head", {}, h("h2", {}, title), key), chart) };
}

// Over a few points each: pages come in bursts, as hosts become free.
function speeds(points) {
  return points.map((point, at) => {
    const before = points[at - SMOOTH] ?? { pages: 0, seconds: 0 };
    const seconds = point.seconds - before.seconds;
    return point.seconds === null || before.seconds === null || seconds <= 0 ? null : (point.pages - before.pages) / seconds;
  });
}

export function show(root, crawl) {
  const harvest = chartCard("Harvest rate", [["all pages", "chart-1"], ["last 200", "chart-2"], ["a random crawl, guessed by link texts", "chart-3", true]], true);
  const sites = chartCard("Relevant sites", []);
  const speed = chartCard("Speed and errors", [["pages/s", "chart-1"], ["failed pages", "chart-4"]]);
  const frontier = chartCard("Frontier", [["waiting links", "chart-1"], ["leaves", "chart-2"]]);
  const charts = [harvest, sites, speed, frontier];
  const newest = h("div", {}, loading("240px"));
  const best = h("div", {}, loading("240px"));
  const base = `#/crawls/${crawl.id}`;
  root.append(
    h(
      "div.stack",
      {},
      harvest.element,
      h("div.columns.three", {}, sites.element, speed.element, frontier.element),
      h(
        "div.columns",
        {},
        h("section.card", {}, h("div.card-head", {}, h("h2", {}, "Newest relevant pages"), h("span.spacer"), h("a.small", { href: `${base}/pages` }, "All pages")), newest),
        h("section.card", {}, h("div.card-head", {}, h("h2", {}, "Best sites"), h("span.spacer"), h("a.small", { href: `${base}/sites` }, "All sites")), best),
      ),
    ),
  );
  let metrics = null;
  const themed = () => metrics && drawAll();
  document.addEventListener("theme", themed);

  async function drawAll() {
    if (metrics.points.length < 2) {
      for (const { chart } of charts) {
        await clear(chart);
        chart.classList.remove("skeleton");
        replace(chart, empty("Not enough pages yet", "Charts begin with the first pages."));
      }
      return;
    }
    for (const { chart } of charts) if (chart.querySelector(":scope > .empty")) replace(chart);
    const { points, random_reference: random } = metrics;
    const x = points.map((point) => point.pages);
    const of = (name) => points.map((point) => point[name]);
    const rate = { hover: "%{y:.1%}" };
    const traces = [
      line(x, of("harvest_rate_last"), "last 200", "chart-2", { ...rate, line: { width: 1.5 } }),
      line(x, of("harvest_rate"), "all pages", "chart-1", { ...rate, line: { width: 2.5 } }),
    ];
    if (random) traces.unshift(...reference(x, random));
    await draw(harvest.chart, [{ traces, axis: { tickformat: ".0%" } }]);
    const area = { trace: { fill: "tozeroy", fillcolor: colour("chart-1", 0.12) } };
    await draw(sites.chart, [{ traces: [line(x, of("relevant_sites"), "relevant sites", "chart-1", area)] }]);
    await draw(speed.chart, [
      { traces: [line(x, speeds(points), "pages/s", "chart-1", { hover: "%{y:.1f}" })] },
      { traces: [line(x, of("failed"), "failed pages", "chart-4")] },
    ]);
    await draw(frontier.chart, [
      { traces: [line(x, of("waiting"), "waiting links", "chart-1", area)] },
      { traces: [line(x, of("leaves"), "leaves", "chart-2", { line: { shape: "hv" } })] },
    ]);
  }

  // What a random crawl would harvest by the texts of links, and the range in which real ones lay.
  function reference(x, random) {
    const ends = [0, x.at(-1)];
    const edge = (y, more) => ({ type: "scatter", mode: "lines", x: ends, y: [y, y], line: { width: 0 }, hoverinfo: "skip", ...more });
    return [
      edge(random.low),
      edge(random.high, { fill: "tonexty", fillcolor: colour("chart-3", 0.18) }),
      line(x, x.map(() => random.harvest_rate), "random crawl", "chart-3", { hover: `%{y:.1%} (${share(random.low, 0)}–${share(random.high, 0)})`, line: { dash: "dash", width: 1.5 } }),
    ];
  }

  async function part(place, path, draw) {
    try {
      await draw(await get(path));
    } catch (error) {
      if (!place.childElementCount || place.querySelector(".skeleton, .empty")) replace(place, failed(error, refresh));
    }
  }

  async function refresh() {
    await Promise.all([
      part(harvest.chart, `/crawls/${crawl.id}/metrics?points=${POINTS}`, async (answer) => {
        metrics = answer;
        crawl.metrics(answer);
        await drawAll();
      }),
      part(newest, `/crawls/${crawl.id}/pages?relevant=true&limit=${NEWEST}`, ({ items }) => {
        if (!items.length) return replace(newest, empty("No relevant page yet", "They appear here as they are found."));
        let list = newest.querySelector("ul");
        if (!list) replace(newest, (list = h("ul.rows")));
        keyed(list, items, (item) => `${item.id} ${item.label}`, (item) => pageRow(item, crawl));
      }),
      part(best, `/crawls/${crawl.id}/sites?limit=${BEST}`, ({ items }) => {
        if (!items.length) return replace(best, empty("No relevant site yet", "A site counts with its first relevant page."));
        redraw(best, siteTable(items, crawl));
      }),
    ]);
  }

  return {
    refresh,
    close() {
      document.removeEventListener("theme", themed);
      for (const { chart } of charts) clear(chart);
    },
  };
}
