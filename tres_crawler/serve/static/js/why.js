// Why this page: a drawer with its path, its features, what it was worth, the judgement, and a say in it.
import { get, post } from "./api.js";
import { h, icon, replace } from "./dom.js";
import { decimal, featureName, number, outside, plural, share, shortUrl, when } from "./format.js";
import { closeButton, failed, loading } from "./states.js";
import { clean } from "./text.js";
import { attempt, toast } from "./toast.js";

const HOW = {
  seed: "It is a seed: a person named it.",
  value: "Of all links that could be fetched, this one was valued most.",
  chance: "It was drawn at random: now and then the crawler tries what it would not choose.",
  promise: "By its link text and the page it stood on alone; the learner had no say yet.",
  order: "It was its turn, or was drawn: this policy values no links.",
};

export function drawer(crawl, onClosed, onChanged) {
  const inner = h("div.inner");
  const dialog = h("dialog.drawer", { "aria-label": "Why this page" }, h("div.bar-top", {}, h("h2", { tabindex: "-1", autofocus: true }, "Why this page"), h("span.spacer"), closeButton(() => dialog.close())), inner);
  let shown = null;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    if (shown === null) return;
    shown = null;
    onClosed();
  });
  // A click beside the drawer closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  async function show(page) {
    if (page === shown) return;
    shown = page;
    if (page === null) return dialog.close();
    if (!dialog.open) dialog.showModal();
    replace(inner, loading("90px"), loading("200px"), loading("160px"));
    dialog.scrollTop = 0;
    await fill(page);
  }

  async function fill(page) {
    try {
      const why = await get(`/crawls/${crawl}/pages/${page}`);
      if (shown === page) replace(inner, head(why), verdict(why), choice(why), path(why), ledTo(why), details(why));
    } catch (error) {
      if (shown === page) replace(inner, failed(error, () => fill(page)));
    }
  }

  function head(why) {
    return h("section", {}, h("h1", {}, clean(why.title) || shortUrl(why.url)), h("p.small", {}, outside(why.url), " ", icon("open")));
  }

  function verdict(why) {
    const judged = why.outcome === "judged";
    const words = judged ? (why.relevant ? "Relevant" : "Not relevant") : why.outcome[0].toUpperCase() + why.outcome.slice(1);
    const by = judged ? `${share(why.probability, 1)} by judge version ${why.judge_version}` : why.reason;
    const vote = (relevant, glyph, label) =>
      h("button.button", { type: "button", "aria-pressed": String(why.label === relevant), onclick: (event) => attempt(event.currentTarget, () => say(why, relevant)) }, icon(glyph), label);
    return h(
      "section",
      {},
      h("div.verdict", {}, h("div", {}, h("div.big", {}, words), h("div.small.muted", {}, by, why.label !== null && " · a person’s word stands")), h("span.spacer"), judged && h("div.actions", { role: "group", "aria-label": "Your judgement" }, vote(true, "up", "Relevant"), vote(false, "thumbdown", "Not relevant"))),
      why.earlier_judgements.length > 0 && h("p.small.muted", {}, "Earlier judges: ", why.earlier_judgements.map((one) => `version ${one.version} ${share(one.probability, 0)}`).join(", ")),
    );
  }

  async function say(why, relevant) {
    const kept = await post(`/crawls/${crawl}/feedback`, { page: why.id, relevant });
    toast(kept.retraining ? "Thank you: the judge learns from it." : `Thank you: kept with ${plural(kept.labels, "label")}.`);
    await fill(why.id);
    onChanged();
  }

  function choice(why) {
    const { choice: chosen } = why;
    const facts = [
      ["Value", chosen.value === null ? null : decimal(chosen.value, 3), "What the learner expected of the link: its own reward and what may come after it."],
      ["Promise", why.source === null ? null : decimal(chosen.promise, 3), "How relevant its text looked, and half the reward of the page it stood on."],
      ["Leaf", chosen.leaf === null ? null : number(chosen.leaf), "The leaf of the tree that offered it."],
      ["Learner", chosen.learner_version === null ? null : number(chosen.learner_version), "Version of the learner that chose it."],
    ].filter(([, value]) => value !== null);
    return h(
      "section",
      {},
      h("h2", {}, "How it was chosen"),
      h("p", {}, HOW[chosen.how]),
      facts.length > 0 && h("dl.facts", {}, facts.map(([name, value, hint]) => h("div", { title: hint }, h("dt", {}, name), h("dd", {}, value)))),
      chosen.rules.length > 0 && h("p.small.muted", {}, "True of all links of its leaf: ", chosen.rules.map(ruleText).join("; "), "."),
      chosen.features.length > 0 && h("div.bars", {}, chosen.features.map((feature) => bar(feature))),
      chosen.features.some(hasMoved) && h("p.small.muted", {}, "Bars show what was known when it was chosen, ticks what was known when the link was found."),
    );
  }

  function ruleText(rule) {
    const words = rule.replace(/[a-z_]{4,}/g, (name) => featureName(name).toLowerCase());
    return words.replace(/\d+\.\d+/g, (digits) => decimal(Number(digits))).replace(">=", "≥");
  }

  const hasMoved = ({ value, placed }) => placed !== null && Math.abs(value - placed) > 0.005;

  function bar({ name, value, placed }) {
    const width = (number) => `${Math.max(0, Math.min(1, number)) * 100}%`;
    const track = h("span.track", {}, h("i", { style: { width: width(value) } }), hasMoved({ value, placed }) && h("b", { style: { left: width(placed) }, title: `${decimal(placed)} when the link was found` }));
    return [h("span", { title: name }, featureName(name)), track, h("span.number", {}, decimal(value))];
  }

  function step(page, current) {
    const name = clean(page.title) || shortUrl(page.url);
    return h(
      page.relevant ? "li.yes" : "li",
      {},
      page.anchor && h("span.via", {}, `via “${clean(page.anchor).slice(0, 80)}”`),
      current ? h("strong.one-line", {}, name) : h("a.one-line", { href: location.hash.replace(/\d+$/, page.id) }, name),
      h("span.small.muted.one-line", {}, shortUrl(page.url), h("span.only-read", {}, page.relevant ? ", relevant" : ", not relevant")),
    );
  }

  function path(why) {
    return h("section", {}, h("h2", {}, "Path from the seed"), h("ol.steps", {}, why.path.map((page) => step(page, page.id === why.id))));
  }

  function ledTo(why) {
    const { led_to: led } = why;
    const words = led.links ? `${plural(led.links, "new link")}: ${number(led.waiting)} wait, ${number(led.refused)} refused, ${number(led.fetched)} fetched, of which ${number(led.relevant)} relevant.` : "No link was first seen on this page.";
    return h("section", {}, h("h2", {}, "What it led to"), h("p.muted", {}, words), led.pages.length > 0 && h("ol.steps", {}, led.pages.slice(0, 8).map((page) => step(page, false))));
  }

  function details(why) {
    const rows = [
      ["Page", number(why.id)],
      ["Fetched", when(why.fetched_at)],
      ["Site", why.site],
      ["Depth", plural(why.depth, "link")],
      ["HTTP status", why.status === null ? "no answer" : String(why.status)],
      ["Outlinks", number(why.outlinks)],
      why.redirects > 0 && ["Redirects", number(why.redirects)],
      why.attempts > 0 && ["Tries before", number(why.attempts)],
      why.duplicate_of !== null && ["Copy of page", number(why.duplicate_of)],
    ].filter(Boolean);
    return h("section", {}, h("h2", {}, "Details"), h("dl.pairs", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  }

  return {
    show,
    close() {
      shown = null;
      dialog.close();
      dialog.remove();
    },
  };
}
