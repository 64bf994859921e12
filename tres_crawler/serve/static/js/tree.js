// The Tree-Frontier drawn: what parts the links, how many wait in each leaf, and, as colour, what leaves have earned.
import { get } from "./api.js";
import { h, replace, svg } from "./dom.js";
import { decimal, featureName, number, plural } from "./format.js";
import { empty, failed, loading } from "./states.js";

const NODE = { width: 206, height: 48 };
const ROW = 58;
const WIDE_GAP = 56;
const NARROW_GAP = 44;
const EDGE_OF_DRAWING = 16;
const ROWS_AT_FIRST = 8;
const LEVELS = 10;
const DEEPEST = 64;
const REST_BETWEEN = 5000;

export function show(root, crawl) {
  const place = h("div", {}, loading("420px"));
  const size = h("span.small.muted");
  const words = h("p.small.muted", {}, "Each rule was found where it best parts links that paid from links that did not. For the next fetch every leaf offers some links, and the learner takes the most valuable.");
  const most = h("span");
  const scale = h("span.scale", {}, "mean reward 0", h("i"), most);
  const expand = h("button.button", { type: "button", onclick: openAll }, "Open all");
  const collapse = h("button.button", { type: "button", onclick: () => (openSome(), draw(), showRoot()) }, "Fold");
  root.append(h("section.card", {}, h("div.card-head", {}, h("h2", {}, "What the crawler has learned"), size, h("span.spacer"), scale, expand, collapse), words, place));
  const nodes = new Map();
  const open = new Set();
  const scroll = h("div.tree-scroll", { tabindex: "0", role: "region", "aria-label": "The tree; scroll to see all of it" });
  let asked = 0;
  let levels = LEVELS;
  let touched = false;

  const isSplit = (node) => node.left !== null || node.collapsed;
  const children = (node) => [nodes.get(node.left), nodes.get(node.right)];

  // Level by level, the busiest first, as much as fits without looking for it.
  function openSome() {
    touched = false;
    open.clear();
    const rows = [nodes.get(0)];
    while (rows.length < ROWS_AT_FIRST) {
      const splits = rows.filter((node) => node.left !== null);
      if (!splits.length) return;
      const [next] = splits.sort((a, b) => a.depth - b.depth || b.experiences - a.experiences);
      open.add(next.id);
      rows.splice(rows.indexOf(next), 1, ...children(next));
    }
  }

  async function openAll() {
    touched = true;
    levels = DEEPEST;
    await load();
    for (const node of nodes.values()) if (node.left !== null) open.add(node.id);
    draw();
  }

  async function toggle(node) {
    touched = true;
    if (open.has(node.id)) open.delete(node.id);
    else {
      if (node.collapsed) {
        levels += LEVELS;
        await load();
      }
      open.add(node.id);
    }
    draw(node.id);
  }

  // A tree grows to both sides of its root, which is where a reader begins.
  function showRoot() {
    scroll.scrollTop = scroll.querySelector('[data-node="0"]').getCTM().f - scroll.clientHeight / 2;
  }

  async function load() {
    const tree = await get(`/crawls/${crawl.id}/frontier?depth=${Math.min(levels, DEEPEST)}`);
    nodes.clear();
    for (const node of tree.nodes) nodes.set(node.id, node);
    return tree;
  }

  async function refresh() {
    if (Date.now() - asked < REST_BETWEEN) return;
    asked = Date.now();
    try {
      const tree = await load();
      const grown = tree.nodes.length > 0;
      for (const tool of [expand, collapse, scale]) tool.classList.toggle("hidden", !grown);
      if (!grown) return replace(place, empty("This crawl has no tree", `The policy “${tree.policy}” keeps its links without one, or none has grown yet.`));
      size.textContent = `${plural(tree.links, "link")} in ${plural(tree.leaves, "leaf", "leaves")}`;
      if (!touched) openSome();
      if (scroll.isConnected) return draw();
      replace(place, scroll);
      draw();
      showRoot();
    } catch (error) {
      if (!scroll.isConnected) replace(place, failed(error, () => ((asked = 0), refresh())));
    }
  }

  // Leaves get a row each, splits the middle of their children's rows.
  function placed() {
    const gap = scroll.clientWidth < 600 ? NARROW_GAP : WIDE_GAP;
    const found = [];
    let row = 0;
    function put(node, depth) {
      const kids = open.has(node.id) && node.left !== null ? children(node).map((child) => put(child, depth + 1)) : [];
      const at = { node, kids, x: EDGE_OF_DRAWING + depth * (NODE.width + gap), y: 0 };
      at.y = kids.length ? (kids[0].y + kids[1].y) / 2 : EDGE_OF_DRAWING + row++ * ROW;
      found.push(at);
      return at;
    }
    put(nodes.get(0), 0);
    return { found, rows: row };
  }

  function draw(focused = scroll.contains(document.activeElement) ? document.activeElement.dataset.node : null) {
    const { found, rows } = placed();
    const rewards = [...nodes.values()].map((node) => node.mean_reward ?? 0);
    const largest = Math.max(...rewards) || 1;
    const links = nodes.get(0).links || 1;
    most.textContent = decimal(largest);
    const width = Math.max(...found.map((at) => at.x)) + NODE.width + EDGE_OF_DRAWING;
    const height = rows * ROW - (ROW - NODE.height) + 2 * EDGE_OF_DRAWING;
    const edges = found.flatMap((at) => at.kids.map((kid, side) => edge(at, kid, side, links)));
    const boxes = found.sort((a, b) => a.x - b.x || a.y - b.y).map((at) => box(at, largest));
    replace(scroll, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Tree" }, edges, boxes));
    if (focused !== null && focused !== undefined) scroll.querySelector(`[data-node="${focused}"]`)?.focus();
  }

  function edge(from, to, side, links) {
    const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
    const [x2, y2] = [to.x, to.y + NODE.height / 2];
    const bend = (x1 + x2) / 2;
    const sign = `${side ? "≥" : "<"} ${decimal(from.node.threshold)}`;
    return [
      svg("path.tree-edge", { d: `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`, "stroke-width": String(1 + 7 * Math.sqrt(to.node.links / links)) }),
      svg("text.tree-sign", { x: String(x2 - 6), y: String(y2 + (side ? 14 : -7)), "text-anchor": "end" }, sign),
    ];
  }

  function box({ node, x, y }, largest) {
    const split = isSplit(node);
    const shown = split && open.has(node.id);
    const known = node.mean_reward !== null;
    const strength = known ? node.mean_reward / largest : 0;
    const name = split ? (shown ? `${featureName(node.feature)}?` : `${plural(node.leaves, "leaf", "leaves")} below`) : known ? `Reward ${decimal(node.mean_reward)}` : "Not tried yet";
    const rest = `${plural(node.links, "link")} · ${number(node.experiences)} tried`;
    const told = [split ? `${featureName(node.feature)} below ${decimal(node.threshold)}?` : `Leaf ${node.id}`, rest, known && `mean reward ${decimal(node.mean_reward, 3)}`, node.value !== null && `value ${decimal(node.value, 3)}`].filter(Boolean).join("\n");
    const face = svg("rect.face", { width: NODE.width, height: NODE.height, rx: 10 });
    face.style.fill = shown || !known ? "var(--surface)" : `color-mix(in oklab, var(--reward-high) ${Math.round(strength * 100)}%, var(--reward-low))`;
    if (!known) face.setAttribute("stroke-dasharray", "4 3");
    const group = svg(
      "g.tree-node",
      { transform: `translate(${x} ${y})`, "data-node": String(node.id), tabindex: split ? "0" : "-1", role: split ? "button" : "img", "aria-expanded": split ? String(shown) : null, "aria-label": told.replaceAll("\n", ", ") },
      svg("title", {}, told),
      split && !shown && svg("rect", { x: 4, y: 5, width: NODE.width, height: NODE.height, rx: 10, fill: "var(--raised)" }),
      face,
      svg("text.name", { x: 12, y: 21 }, name),
      svg("text.rest", { x: 12, y: 39 }, rest),
    );
    if (!shown && known) group.classList.add(strength > 0.55 ? "rewarded" : "coloured");
    if (!split) group.classList.add("plain");
    else {
      group.addEventListener("click", () => toggle(node));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle(node);
      });
    }
    return group;
  }

  return { refresh, close() {} };
}
