// The form that starts a crawl; what is wrong is said by the API, next to the field it is about.
import { get, post } from "./api.js";
import { h, replace } from "./dom.js";
import { shortUrl } from "./format.js";
import { toast } from "./toast.js";

const OBJECTIVES = [
  ["pages", "Relevant pages", "Every relevant page counts alike."],
  ["balanced", "Balanced", "The first page of a site counts more."],
  ["sites", "Relevant sites", "Finding new sites counts above all."],
];
const AFTERWARDS = [
  ["off", "End", "Known pages are not visited again."],
  ["share", "Visit known pages too, then end", "One fetch in five goes to relevant pages found before."],
  ["monitor", "Keep watching", "It stays up and tells what is new on relevant pages."],
];
const PLACES = [["topic.name", "name"], ["topic.keywords", "keywords"], ["topic.seeds", "seeds"], ["max_per_site", "per-site"], ["max_pages", "pages"], ["keyword", "keywords"], ["seed", "seeds"], ["name", "name"], ["topic", "known"]];

// randomUUID is missing where a page is not served securely, which plain HTTP off the loopback is not.
const newKey = () => [...crypto.getRandomValues(new Uint32Array(4))].join("-");

function aboutTopic(topic) {
  if (!topic) return "";
  return topic.error ?? `${topic.keywords.join(", ")} · from ${topic.seeds.map(shortUrl).join(", ")}`;
}

export function startForm(close) {
  const fields = {};
  const kind = { value: "own" };

  function field(id, label, input, hint) {
    const error = h("span.field-error", { id: `${id}-error`, role: "alert" });
    input.id = `start-${id}`;
    input.setAttribute("aria-describedby", `${id}-error`);
    fields[id] = { input, error };
    return h("div.field", {}, h("label", { for: input.id }, label), input, hint && h("span.hint", {}, hint), error);
  }

  const own = h(
    "div.start",
    {},
    h(
      "div.grid",
      {},
      field("name", "Name", h("input", { placeholder: "databases", maxlength: "100", autocomplete: "off" })),
      field("keywords", "Keywords", h("input", { placeholder: "database, sql, index", autocomplete: "off" }), "Parted by commas; three to ten do well."),
    ),
    field("seeds", "Seed URLs", h("textarea", { placeholder: "https://www.example.org/", spellcheck: "false" }), "Where to begin, one a line."),
  );
  const names = h("select");
  const about = h("span");
  const known = h("div.start.hidden", {}, h("div.grid", {}, field("known", "Topic", names, about)));
  const segments = h("div.segments", { role: "group", "aria-label": "Where the topic comes from" }, part("own", "Keywords and seeds"), part("known", "A named topic"));

  function part(value, label) {
    return h("button", { type: "button", "aria-pressed": String(value === kind.value), onclick: () => choose(value), "data-kind": value }, label);
  }

  async function choose(value) {
    kind.value = value;
    for (const button of segments.children) button.setAttribute("aria-pressed", String(button.dataset.kind === value));
    own.classList.toggle("hidden", value !== "own");
    known.classList.toggle("hidden", value !== "known");
    if (value === "known" && !names.options.length) {
      const topics = await get("/topics").catch((error) => (toast(error.message, true), []));
      replace(names, topics.map((topic) => h("option", { value: topic.name }, topic.name)));
      const tell = () => (about.textContent = aboutTopic(topics.find((topic) => topic.name === names.value)));
      names.addEventListener("change", tell);
      tell();
      if (!topics.length) fields.known.error.textContent = "The service knows no topic file.";
    }
  }

  function choices(id, label, options) {
    const hint = h("span", {}, options[0][2]);
    const select = h("select", {}, options.map(([value, name]) => h("option", { value }, name)));
    select.addEventListener("change", () => (hint.textContent = options[select.selectedIndex][2]));
    return field(id, label, select, hint);
  }

  const limits = h(
    "div.grid",
    {},
    field("pages", "Page budget", h("input", { type: "number", min: "1", value: "2000", inputmode: "numeric" }), "It ends when so many are fetched."),
    field("per-site", "Most pages of one site", h("input", { value: "100", autocomplete: "off" }), "A number, 5:2 to fall from 5 to 2, or none."),
    choices("objective", "What counts", OBJECTIVES),
    choices("recrawl", "When it is done", AFTERWARDS),
  );

  const general = h("p.field-error", { role: "alert" });
  const submit = h("button.button.primary", {}, "Start crawl");
  const cancel = h("button.button", { type: "button", onclick: close }, "Cancel");
  const form = h("form.card.start.fade", { novalidate: true, "aria-label": "New crawl" }, h("h2", {}, "New crawl"), segments, own, known, limits, general, h("div.actions", {}, submit, cancel));
  // One key for one form: pressing twice, or a lost answer, starts one crawl.
  let key = newKey();

  function body() {
    const list = (text, by) => text.split(by).map((item) => item.trim()).filter(Boolean);
    const value = (id) => fields[id].input.value.trim();
    const topic = kind.value === "known" ? value("known") : { name: value("name"), keywords: list(value("keywords"), ","), seeds: list(value("seeds"), /\s+/) };
    const pages = Number(value("pages"));
    const crawl = { max_pages: Number.isNaN(pages) ? value("pages") : pages, objective: value("objective") };
    if (value("per-site")) crawl.max_per_site = value("per-site");
    return { topic, crawl, ...(value("recrawl") !== "off" && { recrawl: { mode: value("recrawl") } }) };
  }

  function showProblem(problem) {
    const told = problem.message;
    const [, id] = PLACES.find(([word]) => told.includes(word)) ?? [];
    if (!id || !fields[id] || fields[id].input.closest(".hidden")) {
      general.textContent = told;
      return;
    }
    fields[id].error.textContent = told;
    fields[id].input.setAttribute("aria-invalid", "true");
    fields[id].input.focus();
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    general.textContent = "";
    for (const { input, error } of Object.values(fields)) {
      error.textContent = "";
      input.removeAttribute("aria-invalid");
    }
    submit.disabled = true;
    submit.textContent = "Starting …";
    try {
      const crawl = await post("/crawls", body(), { "Idempotency-Key": key });
      location.hash = `#/crawls/${crawl.crawl_id}`;
    } catch (error) {
      // Kept when no answer came: the crawl may have been started.
      if (error.status) key = newKey();
      showProblem(error);
    } finally {
      submit.disabled = false;
      submit.textContent = "Start crawl";
    }
  });
  return form;
}
