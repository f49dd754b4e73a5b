// How charts look: the colours of the page, light or dark; groups by colour and by dash, so that neither is needed.

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
    shown: style("--shown"),
    same: style("--same"),
    group: (place) => ({ colour: style(`--group-${place % COLOURS}`), dash: DASHES[place % DASHES.length] }),
  };
}

// Gives a colour with less of it, for bands.
export function faint(colour, part) {
  const hex = Math.round(255 * part).toString(16).padStart(2, "0");
  return `${colour}${hex}`;
}

// Text for Plotly, which takes some tags for markup.
export const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export const onChange = (redraw) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
