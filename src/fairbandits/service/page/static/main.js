// The page: shows the findings as they arrive, unless updates are paused or the page is hidden.

import { showDecisions, watchMore } from "./decisions.js";
import { $, clock, confidence, el, setText, whole } from "./dom.js";
import { listen } from "./feed.js";
import { showComparison, watchTables } from "./sections.js";
import { onChange } from "./theme.js";

const BADGES = {
  fair: "Fair within the tolerance",
  unfair: "Alert: a group is disadvantaged",
  undecided: "Not enough data yet",
};
const CONCLUSIONS = {
  unfair: "gap above the tolerance",
  fair: "fair",
  undecided: "not enough data",
  "too small": "not enough data",
};

let view = null; // the findings that are shown
let latest = null; // the findings that arrived last
let chosen = null; // the attribute by which users are compared
let paused = false;

function comparison() {
  return view?.comparisons.find((each) => each.attributes[0] === chosen);
}

function redraw() {
  if (!view) return;
  showVerdict();
  showAttributes();
  if (comparison()) showComparison(comparison(), view);
  showDecisions(view);
}

function showVerdict() {
  const previous = $("verdict").dataset.status;
  $("verdict").dataset.status = view.status;
  setText("title", view.title);
  setText("badge", BADGES[view.status]);
  setText("sentence", view.sentence);
  setText("detail", view.detail);
  setText("counts", `${whole(view.decisions)} decisions, ${whole(view.rewards)} rewards so far.`);
  setText("tolerance", String(view.tolerance));
  setText("least", whole(view.min_group));
  document.querySelectorAll(".confidence").forEach((span) => (span.textContent = confidence(view)));
  document.title = `${view.status === "unfair" ? "\u26a0 " : ""}${view.title}: ${BADGES[view.status]}`;
  // Screen readers announce a change of the verdict, not every change of a digit.
  if (previous !== view.status) setText("announcement", `${BADGES[view.status]}. ${view.sentence}`);
}

function showAttributes() {
  const fieldset = $("attributes");
  const names = view.comparisons.map((each) => each.attributes[0]);
  if (!names.includes(chosen)) chosen = view.headline;
  fieldset.hidden = names.length < 2;
  if (fieldset.querySelectorAll("input").length !== names.length) {
    fieldset.querySelectorAll("label").forEach((label) => label.remove());
    fieldset.append(...names.map((name, i) => choice(name, i)));
  }
  view.comparisons.forEach((each, i) => {
    fieldset.querySelectorAll("input")[i].checked = each.attributes[0] === chosen;
    setText(`conclusion-${i}`, CONCLUSIONS[each.conclusion]);
    $(`conclusion-${i}`).dataset.conclusion = each.conclusion;
  });
}

function choice(name, i) {
  const input = el("input", { type: "radio", name: "attribute", value: name });
  input.addEventListener("change", () => {
    chosen = name;
    redraw();
  });
  return el("label", {}, input, ` ${name} `, el("span", { id: `conclusion-${i}`, class: "conclusion" }));
}

function receive(received) {
  latest = received;
  // A group has the colour of its place in the configuration, on all charts.
  for (const each of received.comparisons) {
    const place = new Map(each.groups.map((group) => [group.labels[0], group.place]));
    each.timeline?.groups.forEach((group) => (group.place = place.get(group.labels[0])));
  }
  showConnection("live");
  update();
}

function update() {
  if (paused || document.hidden || !latest) return;
  view = latest;
  redraw();
}

function showConnection(state) {
  $("connection").dataset.state = paused ? "paused" : state;
  if (state === "lost") setText("connection", "Connection lost; trying again");
  else if (paused) setText("connection", "Paused");
  else if (latest) setText("connection", `Live, ${clock(latest.time, latest.time)} UTC`);
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  showConnection("live");
  update();
});
document.addEventListener("visibilitychange", update);
onChange(redraw);
watchTables(() => ({ comparison: comparison(), view }));
watchMore(redraw);
listen({ view: receive, state: showConnection });
