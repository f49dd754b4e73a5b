// What stands below the sentence: charts with their tables, for one attribute.

import { drawArms, drawGains, drawGap, drawShares, gaps } from "./charts.js";
import { $, clock, percent, say, show, table, whole, writer } from "./dom.js";

// Tables are made when somebody looks at them.
const SECTIONS = [
  { id: "gains", draw: drawGains, table: gainsTable },
  { id: "gap", draw: drawGap, table: gapTable },
  { id: "arms", draw: drawArms, table: armsTable },
  { id: "experiments", draw: drawExperiments, table: experimentsTable },
  { id: "missing", draw: drawMissing, table: missingTable },
];

export function showComparison(found, view) {
  const there = found.gap !== null;
  $("charts").hidden = !there;
  showSmall(found, view, there);
  if (!there) return;
  say("arms-about", found.about.arms);
  say("experiments-about", found.about.exploration);
  say("missing-about", found.about.missing);
  for (const section of SECTIONS) {
    const chart = $(section.id);
    section.draw(section.id, found, view);
    chart.setAttribute("aria-label", described(section.id, found, view));
    if (chart.closest("section").querySelector("details").open) showTable(section, found, view);
  }
}

// Makes tables when they are opened, of what is shown then.
export function watchTables(current) {
  for (const section of SECTIONS) {
    const details = $(section.id).closest("section").querySelector("details");
    details.addEventListener("toggle", () => {
      const { found, view } = current();
      if (details.open && found?.gap) showTable(section, found, view);
    });
  }
}

function showTable(section, found, view) {
  const name = $(`${section.id}-title`).textContent;
  show(`${section.id}-table`, section.table(found, view, name), `${name}, as a table`);
}

function showSmall(found, view, there) {
  const hidden = found.not_shown;
  const few = `${hidden === 1 ? "One group has" : `${whole(hidden)} groups have`} fewer than ${view.min_group} rewards and ${
    hidden === 1 ? "is" : "are"
  } not shown.`;
  $("small").hidden = there && !hidden;
  say("small", [there ? "" : found.sentence, hidden ? few : ""].filter(Boolean).join(" "));
}

function described(id, found, view) {
  const number = writer(view.reward_range);
  const means = found.groups.map((group) => `${group.labels[0]} ${number(group.mean)}`).join(", ");
  return {
    gains: `Line chart: mean reward of each group over time, with bands. Now: ${means}.`,
    gap: `Line chart: the gap over time, with a band. Now ${number(found.gap.value)}, surely between ${number(
      found.gap.low,
    )} and ${number(found.gap.high)}; tolerated are ${view.tolerance}.`,
    arms: "Bar chart: what each arm adds to the gap.",
    experiments: `Bar chart. ${found.about.exploration}`,
    missing: "Bar chart: the share of each group's rewards that has not come.",
  }[id];
}

function drawExperiments(id, found) {
  drawShares(id, found.groups, (group) => ({ value: group.exploration_rate }), "share of the group's decisions");
}

function drawMissing(id, found) {
  drawShares(id, found.groups, (group) => group.missing_share, "share of the group's decisions");
}

function gainsTable({ timeline }, view, name) {
  const number = writer(view.reward_range);
  const heads = ["up to (UTC)", ...timeline.groups.map((group) => group.labels[0])];
  const rows = timeline.ends.map((end, i) => [
    clock(end, view.time),
    ...timeline.groups.map((group) =>
      group.mean[i] === null
        ? "–"
        : `${number(group.mean[i])} (${number(group.low[i])} to ${number(group.high[i])})`,
    ),
  ]);
  return table(name, heads, rows.toReversed());
}

function gapTable({ timeline }, view, name) {
  const number = writer(view.reward_range);
  const rows = gaps(timeline).map((each, i) => [
    clock(timeline.ends[i], view.time),
    number(each?.gap),
    each ? `${number(timeline.gap_low[i])} to ${number(timeline.gap_high[i])}` : "–",
  ]);
  return table(name, ["up to (UTC)", "gap", "where it may truly lie"], rows.toReversed());
}

function armsTable({ decomposition, gap }, view, name) {
  const number = writer(view.reward_range);
  const fine = (value) => number(value, 1);
  const [advantaged, disadvantaged] = [gap.advantaged[0], gap.disadvantaged[0]];
  const rows = decomposition.arms.map((arm) => [
    arm.arm,
    `${fine(arm.total.value)} (${fine(arm.total.low)} to ${fine(arm.total.high)})`,
    fine(arm.exposure_effect),
    fine(arm.within_arm_effect),
    percent(arm.share_advantaged),
    percent(arm.share_disadvantaged),
    number(arm.mean_advantaged),
    number(arm.mean_disadvantaged),
  ]);
  const others = decomposition.n_arms - decomposition.arms.length;
  if (others > 0) rows.push([`the other ${whole(others)} arms`, fine(decomposition.rest), "", "", "", "", "", ""]);
  const heads = ["arm", "contribution to the gap", "exposure effect", "within-arm effect"];
  const names = [advantaged, disadvantaged];
  heads.push(...names.map((each) => `exposure of ${each}`), ...names.map((each) => `mean of ${each}`));
  return table(name, heads, rows);
}

function experimentsTable({ groups }, view, name) {
  const heads = [
    "group",
    "decisions",
    "experiments",
    "share of its decisions",
    "bore of all experiments",
    "has of all decisions",
  ];
  const rows = groups.map((group) => [
    group.labels[0],
    whole(group.decisions),
    whole(group.explorations),
    percent(group.exploration_rate),
    percent(group.share_of_explorations),
    percent(group.share_of_decisions),
  ]);
  return table(name, heads, rows);
}

function missingTable({ groups }, view, name) {
  const rows = groups.map((group) => [
    group.labels[0],
    whole(group.rewards),
    whole(group.missing),
    `${percent(group.missing_share.value)} (${percent(group.missing_share.low)} to ${percent(group.missing_share.high)})`,
  ]);
  return table(name, ["group", "rewards that came", "missing", "share missing"], rows);
}
