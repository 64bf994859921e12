// Charts by Plotly, loaded when the first one is shown, in the colours of the page.
let library = null;

export function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = null;
      reject(new Error("The charts could not be loaded."));
    };
    document.head.append(script);
  });
  return library;
}

// What a colour of the style sheet is at this moment, light or dark.
export function colour(name, alpha = 1) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  const [red, green, blue] = found.match(/[\d.]+/g);
  return alpha === 1 ? found : `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

export function line(x, y, name, tint, more = {}) {
  return { type: "scatter", mode: "lines", x, y, name, line: { color: colour(tint), width: 2, ...more.line }, hovertemplate: more.hover ?? "%{y:,}", ...more.trace };
}

function axis(more) {
  return { gridcolor: colour("line"), zeroline: false, linecolor: colour("line"), tickfont: { size: 11 }, fixedrange: true, automargin: true, ...more };
}

// Draws panes one above the other over a common axis of pages; each has its own scale.
export async function draw(element, panes) {
  const Plotly = await plotly();
  if (!element.isConnected) return;
  const gap = panes.length > 1 ? 0.14 : 0;
  const height = (1 - gap * (panes.length - 1)) / panes.length;
  const traces = [];
  const layout = {
    font: { family: FONT, size: 12, color: colour("muted") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 44, r: 12, t: 10, b: 34 },
    showlegend: false,
    dragmode: false,
    hovermode: "x unified",
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line"), font: { color: colour("ink"), size: 12 } },
    xaxis: axis({ title: { text: "pages fetched", font: { size: 11 }, standoff: 6 }, showgrid: false, hoverformat: ",d", tickformat: ",d", nticks: 6, rangemode: "tozero", anchor: `y${panes.length > 1 ? panes.length : ""}` }),
  };
  panes.forEach((pane, index) => {
    const suffix = index ? String(index + 1) : "";
    const top = 1 - index * (height + gap);
    layout[`yaxis${suffix}`] = axis({ domain: [Math.max(0, top - height), top], rangemode: "tozero", nticks: panes.length > 1 ? 4 : 6, tickformat: "~s", ...pane.axis });
    for (const trace of pane.traces) traces.push({ ...trace, yaxis: `y${suffix}` });
  });
  element.classList.remove("skeleton");
  await Plotly.react(element, traces, layout, { displayModeBar: false, responsive: true });
}

export async function clear(element) {
  if (library && element.classList.contains("js-plotly-plot")) (await library).purge(element);
}
