// The address after # says what is shown: #/ all crawls, #/crawls/3/sites/17 crawl 3, its sites, and why page 17.
import { showCrawl } from "./crawl.js";
import { showCrawls } from "./crawls.js";
import { icon, replace } from "./dom.js";

const main = document.getElementById("main");
let view = null;
let shown = "";

function route() {
  const [, place, id, tab = "overview", page] = location.hash.split("/");
  const name = place === "crawls" && /^[1-9]\d{0,9}$/.test(id ?? "") ? `crawl ${id}` : "all";
  if (name !== shown) {
    view?.close();
    replace(main);
    shown = name;
    view = name === "all" ? showCrawls(main) : showCrawl(main, Number(id));
    window.scrollTo(0, 0);
  }
  view.go?.(tab, /^[1-9]\d{0,9}$/.test(page ?? "") ? Number(page) : null);
}

const THEMES = ["auto", "light", "dark"];
const GLYPHS = { auto: "auto", light: "sun", dark: "moon" };
const button = document.getElementById("theme");

function showTheme() {
  const theme = document.documentElement.dataset.theme ?? "auto";
  replace(button, icon(GLYPHS[theme]));
  button.setAttribute("aria-label", `Theme: ${theme}`);
  button.title = `Theme: ${theme}`;
}

button.addEventListener("click", () => {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  localStorage.setItem("theme", next);
  showTheme();
  document.dispatchEvent(new Event("theme"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));

showTheme();
addEventListener("hashchange", route);
route();
