// The look of charts: the colours of the page, light or dark. Groups differ by colour and by dash.

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const COLOURS = 6;

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function theme() {
  return {
    ink: style("--ink"),
    soft: style("--soft"),
    line: style("--line"),
    page: style("--card"),
    tolerated: style("--tolerated"),
    bad: style("--bad"),
    exposure: style("--exposure"),
    withinArm: style("--within-arm"),
    group: (place) => ({ colour: style(`--group-${place % COLOURS}`), dash: DASHES[place % DASHES.length] }),
  };
}

// Returns a translucent colour, for bands.
export function faint(colour, opacity) {
  const hex = Math.round(255 * opacity)
    .toString(16)
    .padStart(2, "0");
  return `${colour}${hex}`;
}

// Escapes text for Plotly, which interprets some tags.
export const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export const onChange = (redraw) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
