// One crawl, live: its head with state and buttons, and a tab for each way to look at it.
import { adjust } from "./adjust.js";
import { download, get, post, send } from "./api.js";
import { h, icon, replace, setText } from "./dom.js";
import { figures, pill, progress, updatePill } from "./figures.js";
import { number, plural, rate, share } from "./format.js";
import * as freshness from "./freshness.js";
import { eased, follow } from "./live.js";
import * as overview from "./overview.js";
import * as pages from "./pages.js";
import * as politeness from "./politeness.js";
import * as sites from "./sites.js";
import { failed, loading } from "./states.js";
import { attempt, toast } from "./toast.js";
import * as tree from "./tree.js";
import { drawer } from "./why.js";

const TABS = {
  overview: ["Overview", overview],
  pages: ["Pages", pages],
  sites: ["Sites", sites],
  tree: ["Tree", tree],
  politeness: ["Politeness", politeness],
  freshness: ["Freshness", freshness],
};
const EXPORTS = [
  ["csv", "Pages as CSV", "for spreadsheets"],
  ["jsonl", "Pages as JSON lines", "with texts, where kept"],
  ["parquet", "Pages as Parquet", "for pandas, DuckDB, Spark"],
  ["sites", "Sites as CSV", "with evidence"],
  ["graph", "Link graph as CSV", "for Gephi, NetworkX"],
  ["warc", "Exchanges as WARC", "if they were kept"],
];
// Why a crawl ended, and what to do about it here; the API's own advice is for those who use it.
const REASONS = {
  budget: ["Done: every page of the budget was fetched.", "To go on, raise the budget with Adjust."],
  frontier_empty: ["Done: no link waits any more.", "To reach more of the web, add seeds with Adjust."],
  sites_capped: ["Links wait, but every site has reached its cap.", "To go on, raise the cap or add seeds on other sites with Adjust."],
  no_seed: ["No seed could be fetched.", "Check the seeds in a browser, and the network; add others with Adjust, or start a new crawl."],
  stopped: ["Stopped by a person.", "Resume goes on where it stopped."],
  failed: ["The crawl could not go on.", "Mend the cause, then Resume."],
};
const BREATH = 1500;

export function showCrawl(main, id) {
  const state = pill({ state: "running" });
  const title = h("h1", {}, `Crawl ${id}`);
  const about = h("p.small.muted");
  const buttons = h("div.actions");
  const notice = h("div");
  const bar = progress();
  const told = figures(["Harvest rate", "Relevant pages", "Relevant sites", "Speed", "Waiting links", "Failed"]);
  const tabs = h("nav.tabs", { "aria-label": "Views of the crawl" });
  const body = h("div");
  const head = h("div.page-head", {}, h("div", {}, h("a.crumb", { href: "#/" }, icon("back"), "All crawls"), h("div.page-title", {}, title, state), about), h("span.spacer"), buttons);
  const whole = h("div", {}, head, notice, bar.element, tabs, told.element, body);
  main.append(loading("420px"));

  let status = null;
  let tab = null;
  let view = null;
  let reference = null;
  let latest = null;
  const crawl = {
    id,
    status: () => status,
    ask: () => ask(),
    why: (page) => `#/crawls/${id}/${tab}/${page}`,
    metrics(answer) {
      reference = answer.random_reference;
      latest = answer.points.at(-1) ?? null;
      showFigures();
    },
  };
  const why = drawer(id, () => (location.hash = `#/crawls/${id}/${tab}`), () => ask());

  const ask = eased(async () => {
    try {
      status = await get(`/crawls/${id}`);
    } catch (error) {
      if (!whole.isConnected) replace(main, error.status === 404 ? failed(error, null, h("a.button", { href: "#/" }, "All crawls")) : failed(error, ask));
      return;
    }
    if (!whole.isConnected) replace(main, whole);
    showHead();
    await view?.refresh();
  }, BREATH);

  const askView = eased(async () => view?.refresh(), BREATH);

  // Twice a second the figures come by themselves; all else is asked for when something has happened.
  function happened(kind, data) {
    if (kind !== "progress" || !whole.isConnected) return kind === "page" || kind === "relevant_page" ? undefined : ask();
    status = data;
    showHead();
    return askView();
  }

  const online = (is) => setText(document.getElementById("link-state"), is ? "" : "Connection lost, trying again …");
  const unfollow = follow(`/crawls/${id}/events`, happened, online);
  // Rates move without any event, and so does a crawl whose stream is broken.
  const timer = setInterval(() => status?.state === "running" && ask(), 5000);

  function showHead() {
    document.title = `${status.topic} · tres_crawler`;
    setText(title, status.topic);
    setText(about, `Crawl ${id} · policy ${status.policy} · rewards ${status.objective} · ${status.max_per_site === "none" ? "no cap" : `at most ${status.max_per_site} pages`} per site`);
    updatePill(state, status);
    bar.update(status);
    showFigures();
    showButtons();
    showNotice();
  }

  function showFigures() {
    if (!status) return;
    const times = reference?.low > 0 ? [reference.high, reference.low].map((random) => rate(status.harvest_rate / random)).join("–") : null;
    told.update([
      [share(status.harvest_rate), "", times ? `${times} × random` : "of all pages"],
      [number(status.relevant_pages), "", latest ? `${share(latest.harvest_rate_last, 0)} of the last 200` : `of ${number(status.pages)}`],
      [number(status.relevant_sites), "", `of ${plural(status.sites, "site")}`],
      [rate(status.pages_per_second), "pages/s", "over the whole run"],
      [number(status.waiting), "", status.leaves > 1 ? `in ${number(status.leaves)} leaves` : "in one queue"],
      [number(status.failed), "", `${plural(status.duplicates, "copy", "copies")}`],
    ]);
  }

  let buttonsFor = "";
  function showButtons() {
    if (buttonsFor === status.state) return;
    buttonsFor = status.state;
    const act = (verb, label, glyph, kind = "") =>
      h(`button.button${kind}`, { type: "button", onclick: (event) => attempt(event.currentTarget, () => steer(verb)) }, icon(glyph), label);
    const active = status.state === "running" || status.state === "paused";
    replace(
      buttons,
      status.state === "running" && act("pause", "Pause", "pause"),
      (status.state === "paused" || status.state === "stopped" || status.state === "failed") && act("resume", "Resume", "play", ".primary"),
      active && act("stop", "Stop", "stop", ".danger"),
      h("button.button", { type: "button", onclick: () => adjust(status, ask) }, icon("sliders"), "Adjust"),
      exportMenu(),
      !active && h("button.button.icon.danger", { type: "button", "aria-label": "Delete this crawl", title: "Delete this crawl", onclick: (event) => attempt(event.currentTarget, remove) }, icon("trash")),
    );
  }

  async function steer(verb) {
    status = await post(`/crawls/${id}/${verb}`);
    showHead();
    ask();
  }

  async function remove() {
    if (!confirm(`Delete crawl ${id} (${status.topic}) and all its pages for good?`)) return;
    await send(`/crawls/${id}`, { method: "DELETE" });
    toast(`Crawl ${id} is deleted.`);
    location.hash = "#/";
  }

  function exportMenu() {
    const list = h("ul.hidden", { role: "menu" }, EXPORTS.map(([kind, label, hint]) => h("li", { role: "none" }, h("button", { type: "button", role: "menuitem", "data-format": kind, onclick: (event) => attempt(event.currentTarget, () => take(kind)) }, label, h("small", {}, hint)))));
    const button = h("button.button", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => open(list.classList.contains("hidden")) }, icon("down"), "Export");
    const menu = h("div.menu", {}, button, list);
    function open(is) {
      list.classList.toggle("hidden", !is);
      button.setAttribute("aria-expanded", String(is));
      if (is) list.querySelector("button").focus();
    }
    async function take(kind) {
      open(false);
      // Asked for first, so that what cannot be exported is told here and not as a broken file.
      await send(`/crawls/${id}/export?format=${kind}&limit=1`);
      await download(`/crawls/${id}/export?format=${kind}`);
    }
    menu.addEventListener("focusout", (event) => menu.contains(event.relatedTarget) || open(false));
    menu.addEventListener("keydown", (event) => {
      const items = [...list.querySelectorAll("button")];
      const at = items.indexOf(document.activeElement);
      if (event.key === "Escape") (open(false), button.focus());
      else if (event.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
      else if (event.key === "ArrowUp") items.at(at - 1)?.focus();
      else return;
      event.preventDefault();
    });
    return menu;
  }

  let noticeFor = "";
  function showNotice() {
    const text = JSON.stringify([status.stop_reason, status.stop_detail]);
    if (text === noticeFor) return;
    noticeFor = text;
    const reason = status.stop_reason;
    if (!reason) return replace(notice);
    const [told, advice] = REASONS[reason] ?? [reason, status.advice];
    const kind = reason === "failed" || reason === "no_seed" ? ".bad" : reason === "sites_capped" ? ".warn" : "";
    replace(notice, h(`div.notice${kind}`, { role: "status" }, h("strong", {}, told), status.stop_detail && h("span", {}, status.stop_detail), h("span.muted", {}, advice)));
  }

  function showTab(name) {
    view?.close();
    tab = name;
    replace(tabs, Object.entries(TABS).map(([key, [label]]) => h("a", { href: `#/crawls/${id}/${key}`, "aria-current": key === name ? "page" : null }, label)));
    told.element.classList.toggle("hidden", name !== "overview");
    replace(body);
    view = TABS[name][1].show(body, crawl);
    if (status) view.refresh();
    tabs.querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  return {
    go(name, page) {
      const wanted = name in TABS ? name : "overview";
      if (wanted !== tab) showTab(wanted);
      why.show(page);
      ask();
    },
    close() {
      clearInterval(timer);
      ask.close();
      askView.close();
      unfollow();
      online(true);
      view?.close();
      why.close();
    },
  };
}
