// A crawl's state, progress and figures: what cards and the crawl's own page have in common.
import { h, setText } from "./dom.js";
import { duration, number } from "./format.js";

export const STATE_WORDS = { running: "Running", paused: "Paused", stopped: "Stopped", finished: "Finished", failed: "Failed" };

export function pill(status) {
  const element = h("span.pill");
  updatePill(element, status);
  return element;
}

export function updatePill(element, status) {
  const learning = status.state === "running" && status.is_learning_topic;
  element.className = `pill ${status.state}`;
  setText(element, learning ? "Learning the topic" : STATE_WORDS[status.state]);
}

export function progress() {
  const bar = h("i");
  const done = h("span");
  const left = h("span");
  const track = h("div.bar", { role: "progressbar", "aria-label": "Pages of the budget", "aria-valuemin": "0" }, bar);
  const element = h("div.progress", {}, track, h("div.words", {}, done, left));
  return { element, update: (status) => updateProgress(status, bar, track, done, left) };
}

function updateProgress(status, bar, track, done, left) {
  const { pages, max_pages: budget, seconds, pages_per_second: speed } = status;
  bar.style.width = `${Math.min(100, (pages / budget) * 100)}%`;
  track.setAttribute("aria-valuemax", budget);
  track.setAttribute("aria-valuenow", pages);
  setText(done, `${number(pages)} of ${number(budget)} pages`);
  const remaining = speed > 0 ? (budget - pages) / speed : null;
  if (status.state === "running" && pages >= budget) setText(left, "watching what it found");
  else if (status.state === "running" && remaining !== null && pages > 20) setText(left, `about ${duration(remaining)} left`);
  else setText(left, seconds ? `ran ${duration(seconds)}` : "");
}

// A list of figures: [label, value and unit, note] by a function of what is shown.
export function figures(labels) {
  const cells = labels.map((label) => {
    const value = h("dd");
    const note = h("dd.note");
    return { value, note, element: h("div.figure", {}, h("dt", {}, label), value, note) };
  });
  return {
    element: h("dl.figures", {}, cells.map((cell) => cell.element)),
    update(rows) {
      rows.forEach(([value, unit = "", note], index) => {
        const cell = cells[index];
        const told = `${value}|${unit}`;
        if (cell.told !== told) {
          cell.value.replaceChildren(value, ...(unit ? [h("small", {}, unit)] : []));
          cell.told = told;
        }
        if (note === undefined) cell.note.remove();
        else setText(cell.note, note);
      });
    },
  };
}
