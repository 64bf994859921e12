// Another budget, another cap, more seeds: for a crawl that runs, or one that ended and is to go on.
import { post, send } from "./api.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { toast } from "./toast.js";

export function adjust(status, done) {
  const active = status.state === "running" || status.state === "paused";
  const pages = h("input", { id: "adjust-pages", type: "number", min: "1", inputmode: "numeric", value: String(status.max_pages) });
  const cap = h("input", { id: "adjust-cap", value: status.max_per_site, autocomplete: "off" });
  const seeds = h("textarea", { id: "adjust-seeds", placeholder: "https://www.example.org/", spellcheck: "false" });
  const error = h("p.field-error", { role: "alert" });
  const label = active ? "Save" : "Save and go on";
  const submit = h("button.button.primary", {}, label);
  const cancel = h("button.button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const field = (label, input, hint) => h("div.field", {}, h("label", { for: input.id }, label), input, h("span.hint", {}, hint));
  const form = h(
    "form.token",
    { novalidate: true },
    h("h2", {}, `Adjust crawl ${status.crawl_id}`),
    field("Page budget", pages, `${plural(status.pages, "page")} fetched so far.`),
    field("Most pages of one site", cap, "A number, 5:2 to fall from 5 to 2, or none."),
    field("More seed URLs", seeds, "One a line; they are fetched first."),
    error,
    h("div.actions", {}, submit, cancel),
  );
  const dialog = h("dialog.box", { "aria-label": "Adjust the crawl" }, form);
  dialog.addEventListener("close", () => dialog.remove());

  async function save() {
    const path = `/crawls/${status.crawl_id}`;
    const change = {};
    if (Number(pages.value) !== status.max_pages) change.max_pages = Number(pages.value);
    if (cap.value.trim() !== status.max_per_site) change.max_per_site = cap.value.trim();
    const urls = seeds.value.split(/\s+/).filter(Boolean);
    if (Object.keys(change).length) await send(path, { method: "PATCH", body: change });
    if (urls.length) {
      const { placed, known } = await post(`${path}/seeds`, { seeds: urls });
      toast(`${plural(placed, "new seed")} placed${known ? `, ${known} known already or refused` : ""}.`);
    }
    if (!active) await post(`${path}/resume`);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    submit.disabled = true;
    submit.textContent = "Saving …";
    try {
      await save();
      dialog.close();
      done();
    } catch (problem) {
      error.textContent = problem.message;
    } finally {
      submit.disabled = false;
      submit.textContent = label;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}
