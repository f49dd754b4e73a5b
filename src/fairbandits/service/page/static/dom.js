// Elements and tables, and the formats of numbers and times.

export const $ = (id) => document.getElementById(id);

// Creates an element. Children are nodes or text; text is never interpreted as markup.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Sets text if it has changed, so that screen readers do not repeat it.
export function setText(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}

// Creates a table, in which the first cell of a row is its header.
export function table(caption, heads, rows) {
  return el(
    "table",
    {},
    el("caption", { class: "visually-hidden" }, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el(
      "tbody",
      {},
      ...rows.map(([first, ...cells]) =>
        el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((cell) => el("td", {}, cell))),
      ),
    ),
  );
}

// Shows a table in a container. If it scrolls, it must be reachable by keyboard and have a name.
export function show(id, content, name) {
  const container = $(id);
  const position = [container.scrollLeft, container.scrollTop];
  container.replaceChildren(content);
  [container.scrollLeft, container.scrollTop] = position;
  const scrolls =
    container.scrollWidth > container.clientWidth || container.scrollHeight > container.clientHeight;
  if (scrolls) {
    container.tabIndex = 0;
    container.setAttribute("role", "region");
    container.setAttribute("aria-label", name);
  } else if (container.hasAttribute("tabindex")) {
    for (const attribute of ["tabindex", "role", "aria-label"]) container.removeAttribute(attribute);
  }
}

// Returns the format of rewards: with three digits of their range.
export function numberFormat([low, high]) {
  const digits = Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(high - low))));
  return (value, more = 0) =>
    value === null || value === undefined
      ? "–"
      : minus((Math.abs(value) < 0.5 * 10 ** -(digits + more) ? 0 : value).toFixed(digits + more));
}

export const signed = (text) => (text.startsWith("\u2212") ? text : `+${text}`);
export const percent = (share) => `${(100 * share).toFixed(1)}%`;
// The confidence of all intervals, such as "95%".
export const confidence = (view) => percent(view.confidence).replace(".0", "");
export const whole = (count) => count.toLocaleString("en");
const minus = (text) => text.replace("-", "\u2212");

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short" });

// Formats a time (UTC), with the day if that is not the day of `now`.
export function clock(time, now) {
  const [then, today] = [new Date(time), new Date(now)];
  const day = DAY.format(then);
  return day === DAY.format(today) ? CLOCK.format(then) : `${day}, ${CLOCK.format(then)}`;
}
