// The last decisions: what was shown to whom, and why.

import { $, clock, el, percent, show, signed, writer } from "./dom.js";

const FEW = 10;
const PARTS = ["mean", "exploration", "fairness"];
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
  const number = writer(view.reward_range);
  const reached = shown.flatMap((each) => each.scores.map(reach));
  const span = { low: Math.min(...reached.map((each) => each.low)), high: Math.max(...reached.map((each) => each.high)) };
  const heads = ["When (UTC)", "For", "Shown", "Why", ...NAMES, "Score", "Reward"];
  const made = el(
    "table",
    { class: "decisions" },
    el("caption", { class: "unseen" }, "The last decisions, the newest first"),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col", "data-name": head }, head)))),
    el("tbody", {}, ...shown.flatMap((each) => rows(each, view, number, span)))
  );
  show("recent", made, "The last decisions");
}

// A row for each arm that was shown; what they have in common stands beside the first.
function rows(each, view, number, reached) {
  const span = each.picked.length > 1 ? { rowspan: each.picked.length } : {};
  const groups = Object.entries(each.groups).map(([name, group]) => `${name} ${group}`);
  const reward = each.reward === null ? el("span", { class: "soft" }, "not yet") : number(each.reward);
  return each.picked.map((arm, i) => {
    const score = each.scores[i];
    const cells = [
      el("th", { scope: "row" }, arm),
      cell("Why", el("span", { class: "why" }, bar(score, reached), why(each, score, number))),
      ...PARTS.map((part, at) => cell(NAMES[at], at ? signed(number(score[part])) : number(score[part]))),
      cell("Score", number(score.total)),
    ];
    if (i > 0) return el("tr", {}, ...cells);
    const first = [cell("When", clock(each.time, view.time), span), cell("For", groups.join(", ") || "–", span)];
    return el("tr", { class: "first" }, ...first, ...cells, cell("Reward", reward, span));
  });
}

const cell = (name, content, attributes = {}) => el("td", { "data-name": name, ...attributes }, content);

function why(each, score, number) {
  const parts = [`predicted to bring ${number(score.mean)}`];
  const zero = number(0);
  if (number(Math.abs(score.exploration)) !== zero) parts.push(`${signed(number(score.exploration))} to learn about it`);
  if (number(Math.abs(score.fairness)) !== zero) parts.push(`${signed(number(score.fairness))} for fairness`);
  const kind = each.explored ? el("strong", {}, "Experiment: ") : "";
  const rest = each.explored ? "another arm looked better; " : `Best of ${each.offered}: `;
  const chance = each.propensity === null || each.propensity > 0.9995 ? "" : `; chance ${percent(each.propensity)}`;
  return el("span", {}, kind, `${rest}${parts.join(", ")}${chance}.`);
}

// How far the parts of a score reach below and above zero.
function reach(score) {
  const parts = PARTS.map((part) => score[part]);
  const sum = (some) => some.reduce((total, part) => total + part, 0);
  return { low: sum(parts.filter((part) => part < 0)), high: sum(parts.filter((part) => part > 0)) };
}

// The parts of a score, side by side: to the right of zero what is added, to the left what is taken off.
function bar(score, { low, high }) {
  const scale = 100 / (high - low || 1);
  const zero = -low * scale;
  const ends = { low: zero, high: zero };
  const made = PARTS.map((part) => {
    const width = Math.abs(score[part]) * scale;
    const x = score[part] < 0 ? (ends.low -= width) : ends.high;
    if (score[part] >= 0) ends.high += width;
    return svg("rect", { class: part, x: x.toFixed(2), y: 1, width: width.toFixed(2), height: 8 });
  });
  const line = svg("rect", { class: "zero", x: Math.max(0, zero - 0.15).toFixed(2), y: 0, width: 0.3, height: 10 });
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", class: "parts" }, ...made, line);
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
