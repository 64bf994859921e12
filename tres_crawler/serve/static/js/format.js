// Numbers with separators and units, shares as per cent, times relative with the absolute one on hover.
import { h } from "./dom.js";

const whole = new Intl.NumberFormat("en");
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const STEPS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [86400 * 30, "day", 86400], [Infinity, "month", 86400 * 30]];

export const number = (value) => (value === null || value === undefined ? "–" : whole.format(Math.round(value)));

export function decimal(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function share(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  const least = 0.5 / 10 ** digits / 100;
  return value > 0 && value < least ? `< ${decimal(2 * least * 100, digits)} %` : `${decimal(value * 100, digits)} %`;
}

export const rate = (value) => (value === null || value === undefined ? "–" : decimal(value, value < 10 ? 1 : 0));

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${Math.round(count) === 1 ? one : many}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.round((seconds % 86400) / 3600)} h`;
}

function ago(date) {
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  const [, unit, length] = STEPS.find(([below]) => Math.abs(seconds) < below);
  return relative.format(-Math.round(seconds / length), unit);
}

export function when(text) {
  const date = new Date(text);
  const absolute = date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
  return h("time", { datetime: text, title: absolute }, ago(date));
}

// Every relative time on the page moves on, without its view being drawn again.
setInterval(() => {
  for (const element of document.querySelectorAll("time[datetime]")) element.textContent = ago(new Date(element.dateTime));
}, 10_000);

const FEATURES = {
  parent_reward: "Found on a relevant page",
  inverse_distance: "Close to a relevant page",
  path_ratio: "Relevant share of the path",
  keyword_in_url: "Keyword in the URL",
  keyword_in_anchor: "Keyword in the link text",
  anchor_probability: "Link text looks relevant",
  site_ratio: "Relevant share of the site",
  site_known: "Site visited before",
  site_share: "Site seems relevant",
  word_probability: "Words that paid before",
  found_again: "Named by several pages",
  found_by_relevant: "Named by several relevant pages",
  best_anchor: "Best of its link texts",
  site_named: "Site named by relevant pages",
  site_anchor: "Link texts to the site",
};

export const featureName = (name) => FEATURES[name] ?? name.replaceAll("_", " ");

// Only what a browser fetches from the web becomes a link; a crawl may have met anything.
export function outside(url, text = url) {
  const safe = /^https?:\/\//i.test(url);
  return safe ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text) : h("span", {}, text);
}

export function shortUrl(url) {
  return url.replace(/^https?:\/\/(www\.)?/i, "").replace(/\/$/, "");
}
