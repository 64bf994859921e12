// Short messages at the edge of the page.
import { h } from "./dom.js";

export function toast(text, bad = false) {
  const box = h("div.toast.fade", {}, text);
  if (bad) box.classList.add("bad");
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), bad ? 8000 : 4000);
}

// Runs what a button asks for: the button rests meanwhile, and trouble is told.
export async function attempt(button, action) {
  button.disabled = true;
  try {
    return await action();
  } catch (error) {
    toast(error.message, true);
    return undefined;
  } finally {
    button.disabled = false;
  }
}
