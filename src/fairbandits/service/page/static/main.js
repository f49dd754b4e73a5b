// The page: what was found is shown when it comes, unless updates are paused or nobody looks.

import { showDecisions, watchMore } from "./decisions.js";
import { $, clock, el, percent, say, whole } from "./dom.js";
import { listen } from "./feed.js";
import { showComparison, watchTables } from "./sections.js";
import { onChange } from "./theme.js";

const BADGES = {
  fair: "Fair within what is tolerated",
  unfair: "Alert: a group gains less",
  unsure: "Too early to say",
};
const FOUND = {
  unfair: "more than tolerated",
  fair: "fair",
  undecided: "too early to say",
  "too small": "too early to say",
};

let view = null; // what was shown last
let latest = null; // what came last
let chosen = null; // the attribute by which users are compared
let paused = false;

function found() {
  return view?.comparisons.find((each) => each.attributes[0] === chosen);
}

function redraw() {
  if (!view) return;
  showVerdict();
  showAttributes();
  if (found()) showComparison(found(), view);
  showDecisions(view);
}

function showVerdict() {
  const before = $("verdict").dataset.status;
  $("verdict").dataset.status = view.status;
  say("title", view.title);
  say("badge", BADGES[view.status]);
  say("sentence", view.sentence);
  say("detail", view.detail);
  say("counts", `${whole(view.decisions)} decisions, ${whole(view.rewards)} rewards so far.`);
  say("tolerance", String(view.tolerance));
  say("confidence", percent(view.confidence).replace(".0", ""));
  say("least", whole(view.min_group));
  document.title = `${view.status === "unfair" ? "\u26a0 " : ""}${view.title}: ${BADGES[view.status]}`;
  // Read aloud when something else is found, not whenever a digit changes.
  if (before !== view.status) say("announcement", `${BADGES[view.status]}. ${view.sentence}`);
}

function showAttributes() {
  const place = $("attributes");
  const names = view.comparisons.map((each) => each.attributes[0]);
  if (!names.includes(chosen)) chosen = view.headline;
  place.hidden = names.length < 2;
  if (place.querySelectorAll("input").length !== names.length) {
    place.querySelectorAll("label").forEach((label) => label.remove());
    place.append(...names.map((name, i) => choice(name, i)));
  }
  view.comparisons.forEach((each, i) => {
    place.querySelectorAll("input")[i].checked = each.attributes[0] === chosen;
    say(`found-${i}`, FOUND[each.conclusion]);
    $(`found-${i}`).dataset.conclusion = each.conclusion;
  });
}

function choice(name, i) {
  const input = el("input", { type: "radio", name: "attribute", value: name });
  input.addEventListener("change", () => {
    chosen = name;
    redraw();
  });
  return el("label", {}, input, ` ${name} `, el("span", { id: `found-${i}`, class: "found" }));
}

function take(came) {
  latest = came;
  // A group keeps the colour of its place in the configuration.
  for (const comparison of came.comparisons) {
    const place = new Map(comparison.groups.map((group) => [group.labels[0], group.place]));
    comparison.timeline?.groups.forEach((group) => (group.place = place.get(group.labels[0])));
  }
  connected("live");
  update();
}

function update() {
  if (paused || document.hidden || !latest) return;
  view = latest;
  redraw();
}

function connected(state) {
  const place = $("connection");
  place.dataset.state = paused ? "paused" : state;
  if (state === "lost") say("connection", "Connection lost; trying again");
  else if (paused) say("connection", "Paused");
  else if (latest) say("connection", `Live, ${clock(latest.time, latest.time)} UTC`);
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  connected("live");
  update();
});
document.addEventListener("visibilitychange", update);
onChange(redraw);
watchTables(() => ({ found: found(), view }));
watchMore(redraw);
listen({ found: take, state: connected });
