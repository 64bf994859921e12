// What a view shows while it loads, when it is empty and when it fails.
import { h, icon } from "./dom.js";

export function loading(height = "160px") {
  return h("div.skeleton", { style: { height }, "aria-busy": "true", role: "status", "aria-label": "Loading" });
}

export function empty(title, text, ...more) {
  return h("div.empty", {}, h("h3", {}, title), text && h("p", {}, text), ...more);
}

export function failed(error, again, ...more) {
  return h(
    "div.empty",
    { role: "alert" },
    h("h3", {}, "This could not be loaded"),
    h("p", {}, error.message),
    again && h("button.button", { type: "button", onclick: again }, "Try again"),
    ...more,
  );
}

export function closeButton(onclick) {
  return h("button.button.icon", { type: "button", "aria-label": "Close", onclick }, icon("close"));
}
