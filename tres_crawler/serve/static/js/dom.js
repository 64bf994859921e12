// Elements without markup: whatever a crawl found is text and never becomes HTML.

export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElement(name || "div"), classes, attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), classes, attributes, children);
}

function fill(element, classes, attributes, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [property, to] of Object.entries(value)) element.style.setProperty(property, to);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

// As replace, but a link that had the focus keeps it: what refreshes by itself must not throw a reader out.
export function redraw(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  replace(parent, ...children);
  if (focused) parent.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// Changes a text only when it differs, so that a selection or a screen reader is not disturbed.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A list kept in step with items by key: what stays is not rebuilt, so focus and scrolling survive a refresh.
export function keyed(parent, items, key, make, update) {
  const kept = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = kept.get(name);
    kept.delete(name);
    if (child) update?.(child, item);
    else {
      child = make(item);
      child.dataset.key = name;
    }
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const gone of kept.values()) gone.remove();
}

const PATHS = {
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  down: "M12 4v11m-5-5l5 5 5-5M5 20h14",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  up: "M7 11v9H4v-9zm0 0l4-8c1.7 0 2.5 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 17.800 20H7",
  thumbdown: "M7 13V4H4v9zm0 0l4 8c1.7 0 2.500-1 2.500-2.500V15H19a2 2 0 0 0 2-2.300l-1.200-7A2 2 0 0 0 17.800 4H7",
  open: "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 1 1 9.500 4a7 7 0 0 0 10.500 10.500z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  sliders: "M4 7h10M18 7h2M4 17h2M10 17h10M14 4.500v5M6 14.500v5",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  back: "M15 5l-7 7 7 7",
  chevron: "M6 9l6 6 6-6",
};

export function icon(name) {
  return svg("svg.glyph", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}
