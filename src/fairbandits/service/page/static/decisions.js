// The last decisions: what was shown to whom, and why.

import { $, clock, el, percent, show, signed, writer } from "./dom.js";

const FEW = 10;
const SVG = "http://www.w3.org/2000/svg";
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
  const longest = Math.max(...shown.flatMap((each) => each.scores.map((score) => reach(score))));
  const heads = ["When (UTC)", "For", "Shown", "Why", ...NAMES, "Score", "Reward"];
  const made = el(
    "table",
    { class: "decisions" },
    el("caption", { class: "unseen" }, "The last decisions, the newest first"),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col", "data-name": head }, head)))),
    el("tbody", {}, ...shown.flatMap((each) => rows(each, view, number, longest)))
  );
  show("recent", made, "The last decisions");
}

// A row for each arm that was shown; what they have in common stands beside the first.
function rows(each, view, number, longest) {
  const span = each.picked.length > 1 ? { rowspan: each.picked.length } : {};
  const groups = Object.entries(each.groups).map(([name, group]) => `${name} ${group}`);
  const reward = each.reward === null ? el("span", { class: "soft" }, "not yet") : number(each.reward);
  return each.picked.map((arm, i) => {
    const score = each.scores[i];
    const cells = [
      el("th", { scope: "row" }, arm),
      cell("Why", el("span", { class: "why" }, bar(score, longest), why(each, score, number))),
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
  const kind = each.explored ? el("strong", {}, "Experiment: ") : "Best of ";
  const rest = each.explored ? "another arm looked better; " : `${each.offered} by what was known; `;
  const chance = each.propensity === null || each.propensity > 0.9995 ? "" : `; chance ${percent(each.propensity)}`;
  return el("span", {}, kind, `${rest}${parts.join(", ")}${chance}.`);
}

const reach = (score) => PARTS.reduce((sum, part) => sum + Math.max(0, score[part]), 0) || 1;

// The parts of a score, one behind the other; what is taken off is drawn hollow.
function bar(score, longest) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true", class: "parts" }))
    svg.setAttribute(key, value);
  let at = 0;
  for (const part of PARTS) {
    const width = (100 * score[part]) / longest;
    const rect = document.createElementNS(SVG, "rect");
    const start = width < 0 ? Math.max(0, at + width) : at;
    rect.setAttribute("x", start.toFixed(2));
    rect.setAttribute("width", Math.min(Math.abs(width), 100).toFixed(2));
    rect.setAttribute("height", "8");
    rect.setAttribute("class", `${part}${width < 0 ? " off" : ""}`);
    svg.append(rect);
    at = Math.max(0, at + width);
  }
  return svg;
}
