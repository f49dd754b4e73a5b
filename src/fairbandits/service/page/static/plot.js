// The common parts of charts: the call of Plotly, bands, shortened names.

import { theme } from "./theme.js";

const MAX_LETTERS = 22; // of a name beside a bar
const CONFIG = { displayModeBar: false, responsive: true, showTips: false };

export function draw(id, traces, layout) {
  // Without Plotly, the tables still show the numbers.
  if (!globalThis.Plotly) return;
  const look = theme();
  const axis = {
    color: look.soft,
    gridcolor: look.line,
    zerolinecolor: look.line,
    linecolor: look.line,
    fixedrange: true,
    tickfont: { size: 12 },
  };
  globalThis.Plotly.react(
    id,
    traces,
    {
      autosize: true,
      paper_bgcolor: look.page,
      plot_bgcolor: look.page,
      font: { family: "system-ui, sans-serif", size: 13, color: look.ink },
      margin: { l: 8, r: 20, t: 8, b: 8 },
      dragmode: false,
      hovermode: "closest",
      hoverlabel: { bgcolor: look.page, bordercolor: look.soft, font: { color: look.ink } },
      legend: {
        orientation: "h",
        x: 0,
        y: 1.02,
        xanchor: "left",
        yanchor: "bottom",
        itemclick: false,
        itemdoubleclick: false,
        traceorder: "normal",
        font: { size: 12 },
      },
      ...layout,
      // Each axis makes room in its own direction only, and labels stay horizontal. Otherwise the margins of a narrow
      // chart can depend on each other in a circle, and Plotly gives up with a warning.
      xaxis: { ...axis, automargin: "height", tickangle: 0, ...titled(layout.xaxis) },
      yaxis: { ...axis, automargin: "width", ...titled(layout.yaxis) },
    },
    CONFIG,
  );
}

const titled = ({ label, ...axis }) =>
  label ? { ...axis, title: { text: label, standoff: 8, font: { size: 12 } } } : axis;

const NONE = { hoverinfo: "skip", showlegend: false };

// A band between two lines, where both are known.
export function band(x, low, high, colour, name) {
  const known = x.map((_, i) => i).filter((i) => low[i] !== null && high[i] !== null);
  const line = { color: "rgba(0,0,0,0)", width: 0 };
  const at = (values) => known.map((i) => values[i]);
  return [
    { ...NONE, x: at(x), y: at(low), mode: "lines", line },
    {
      ...NONE,
      x: at(x),
      y: at(high),
      mode: "lines",
      line,
      fill: "tonexty",
      fillcolor: colour,
      ...(name ? { showlegend: true, name } : {}),
    },
  ];
}

// Shortens a name in the middle, because names that begin alike may differ at their ends.
export function shorten(name) {
  const letters = [...String(name)];
  if (letters.length <= MAX_LETTERS) return name;
  const [start, end] = [letters.slice(0, MAX_LETTERS - 9), letters.slice(-8)];
  return `${start.join("").trimEnd()}…${end.join("").trimStart()}`;
}
