// The recent decisions with their explanations.

import { $, clock, el, numberFormat, percent, show, signed } from "./dom.js";

const FEW = 10;
const TERMS = ["mean", "exploration", "fairness"];
const NAMES = ["Predicted", "Exploration", "Fairness"];
let all = false;

export function watchMore(redraw) {
  $("more").addEventListener("click", () => {
    all = !all;
    $("more").setAttribute("aria-expanded", String(all));
    $("more").textContent = all ? "Show fewer" : "Show more";
    redraw();
  });
}

export function showDecisions(view) {
  $("more").hidden = view.recent.length <= FEW;
  if (!view.recent.length) return;
  const shown = view.recent.slice(0, all ? undefined : FEW);
  const number = numberFormat(view.reward_range);
  const extents = shown.flatMap((each) => each.scores.map(extentOf));
  const extent = {
    low: Math.min(...extents.map((each) => each.low)),
    high: Math.max(...extents.map((each) => each.high)),
  };
  const heads = ["Time (UTC)", "Groups", "Arm", "Explanation", ...NAMES, "Score", "Reward"];
  const content = el(
    "table",
    { class: "decisions" },
    el("caption", { class: "visually-hidden" }, "Recent decisions, newest first"),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col", "data-name": head }, head)))),
    el("tbody", {}, ...shown.flatMap((each) => rows(each, view, number, extent))),
  );
  show("recent", content, "Recent decisions, as a table");
}

// One row for each arm of a decision. The first one has the cells that all of them share.
function rows(each, view, number, extent) {
  const span = each.picked.length > 1 ? { rowspan: each.picked.length } : {};
  const groups = Object.entries(each.groups).map(([name, group]) => `${name} ${group}`);
  const reward = each.reward === null ? el("span", { class: "soft" }, "not yet") : number(each.reward);
  return each.picked.map((arm, i) => {
    const score = each.scores[i];
    const cells = [
      el("th", { scope: "row" }, arm),
      cell("Explanation", el("span", { class: "why" }, bar(score, extent), explanation(each, score, number))),
      ...TERMS.map((term, at) => cell(NAMES[at], at ? signed(number(score[term])) : number(score[term]))),
      cell("Score", number(score.total)),
    ];
    if (i > 0) return el("tr", {}, ...cells);
    const first = [cell("Time", clock(each.time, view.time), span), cell("Groups", groups.join(", ") || "–", span)];
    return el("tr", { class: "first" }, ...first, ...cells, cell("Reward", reward, span));
  });
}

const cell = (name, content, attributes = {}) => el("td", { "data-name": name, ...attributes }, content);

function explanation(each, score, number) {
  const terms = [`predicted reward ${number(score.mean)}`];
  const zero = number(0);
  if (number(Math.abs(score.exploration)) !== zero)
    terms.push(`${signed(number(score.exploration))} for exploration`);
  if (number(Math.abs(score.fairness)) !== zero) terms.push(`${signed(number(score.fairness))} for fairness`);
  const kind = each.explored ? el("strong", {}, "Exploration: ") : "";
  const rest = each.explored ? "another arm looked better; " : `Best of ${each.offered}: `;
  const isCertain = each.propensity === null || each.propensity > 0.9995;
  const probability = isCertain ? "" : `; probability ${percent(each.propensity)}`;
  return el("span", {}, kind, `${rest}${terms.join(", ")}${probability}.`);
}

// How far the stacked terms of a score extend below and above zero.
function extentOf(score) {
  const terms = TERMS.map((term) => score[term]);
  const sum = (some) => some.reduce((total, term) => total + term, 0);
  return { low: sum(terms.filter((term) => term < 0)), high: sum(terms.filter((term) => term > 0)) };
}

// The terms of a score as a stacked bar: positive ones to the right of zero, negative ones to the left.
function bar(score, { low, high }) {
  const scale = 100 / (high - low || 1);
  const zero = -low * scale;
  const ends = { low: zero, high: zero };
  const bars = TERMS.map((term) => {
    const width = Math.abs(score[term]) * scale;
    const x = score[term] < 0 ? (ends.low -= width) : ends.high;
    if (score[term] >= 0) ends.high += width;
    return svg("rect", { class: term, x: x.toFixed(2), y: 1, width: width.toFixed(2), height: 8 });
  });
  const line = svg("rect", {
    class: "zero",
    x: Math.max(0, zero - 0.15).toFixed(2),
    y: 0,
    width: 0.3,
    height: 10,
  });
  return svg(
    "svg",
    { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", class: "parts" },
    ...bars,
    line,
  );
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
