// Small pieces of the page: elements, tables, numbers and times as people write them.

export const $ = (id) => document.getElementById(id);

// Makes an element. Children are nodes or text; text stays text, whatever is in it.
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Sets text where it has changed, so that nothing that reads aloud hears it again.
export function say(id, text) {
  const place = $(id);
  if (place.textContent !== text) place.textContent = text;
}

// Makes a table: the first cell of a row is its head.
export function table(caption, heads, rows) {
  return el(
    "table",
    {},
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el(
      "tbody",
      {},
      ...rows.map(([first, ...cells]) =>
        el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((cell) => el("td", {}, cell)))
      )
    )
  );
}

// Puts a table into its place. What scrolls must be reachable by keyboard, and has a name then.
export function show(id, made, name) {
  const place = $(id);
  const at = [place.scrollLeft, place.scrollTop];
  place.replaceChildren(made);
  [place.scrollLeft, place.scrollTop] = at;
  const scrolls = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight;
  if (scrolls) {
    place.tabIndex = 0;
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", name);
  } else if (place.hasAttribute("tabindex")) {
    for (const attribute of ["tabindex", "role", "aria-label"]) place.removeAttribute(attribute);
  }
}

// Gives the way to write rewards: three digits of their range.
export function writer([low, high]) {
  const digits = Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(high - low))));
  return (value, more = 0) =>
    value === null || value === undefined ? "–" : minus((Math.abs(value) < 0.5 * 10 ** -(digits + more) ? 0 : value).toFixed(digits + more));
}

export const signed = (text) => (text.startsWith("\u2212") ? text : `+${text}`);
export const percent = (share) => `${(100 * share).toFixed(1)}%`;
export const whole = (count) => count.toLocaleString("en");
const minus = (text) => text.replace("-", "\u2212");

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short" });

// Writes a time (UTC): the day too, where it is not that of `now`.
export function clock(time, now) {
  const [then, today] = [new Date(time), new Date(now)];
  const day = DAY.format(then);
  return day === DAY.format(today) ? CLOCK.format(then) : `${day}, ${CLOCK.format(then)}`;
}
