// Asks for the API token, once for however many requests are waiting for it.
import { keepToken } from "./api.js";
import { h } from "./dom.js";

let asking = null;

export function askForToken(wasWrong) {
  asking ??= new Promise((resolve) => {
    const field = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
    const keep = h("input", { type: "checkbox", id: "token-keep" });
    const form = h(
      "form.token",
      {},
      h("h2", {}, "This service asks for a token"),
      h("p.muted", {}, "It was printed when the service first started, and stands in its data directory as “token”."),
      wasWrong && h("p.field-error", { role: "alert" }, "The token given before was not accepted."),
      h("label", { for: "token" }, "API token"),
      field,
      h("label.check", {}, keep, "Remember it on this device"),
      h("button.button.primary", {}, "Continue"),
    );
    const dialog = h("dialog.box", { "aria-label": "API token" }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepToken(field.value.trim(), keep.checked);
      dialog.close();
      dialog.remove();
      asking = null;
      resolve();
    });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
