// The charts of one attribute with their tables.

import { drawArms, drawGains, drawGap, drawShares, gaps } from "./charts.js";
import { $, clock, confidence, numberFormat, percent, setText, show, table, whole } from "./dom.js";

// Tables are filled when they are opened.
const SECTIONS = [
  { id: "gains", draw: drawGains, table: gainsTable },
  { id: "gap", draw: drawGap, table: gapTable },
  { id: "arms", draw: drawArms, table: armsTable },
  { id: "exploration", draw: drawExploration, table: explorationTable },
  { id: "missing", draw: drawMissing, table: missingTable },
];

export function showComparison(comparison, view) {
  const hasGap = comparison.gap !== null;
  $("charts").hidden = !hasGap;
  showSmallGroups(comparison, view, hasGap);
  if (!hasGap) return;
  setText("arms-about", comparison.about.arms);
  setText("exploration-about", comparison.about.exploration);
  setText("missing-about", comparison.about.missing);
  for (const section of SECTIONS) {
    const chart = $(section.id);
    section.draw(section.id, comparison, view);
    chart.setAttribute("aria-label", description(section.id, comparison, view));
    if (chart.closest("section").querySelector("details").open) showTable(section, comparison, view);
  }
}

// Fills a table when it is opened, with the findings that are shown then.
export function watchTables(current) {
  for (const section of SECTIONS) {
    const details = $(section.id).closest("section").querySelector("details");
    details.addEventListener("toggle", () => {
      const { comparison, view } = current();
      if (details.open && comparison?.gap) showTable(section, comparison, view);
    });
  }
}

function showTable(section, comparison, view) {
  const name = $(`${section.id}-title`).textContent;
  show(`${section.id}-table`, section.table(comparison, view, name), `${name}, as a table`);
}

function showSmallGroups(comparison, view, hasGap) {
  const n = comparison.not_shown;
  const subject = n === 1 ? "One group is" : `${whole(n)} groups are`;
  const notShown = `${subject} not shown: fewer than ${view.min_group} rewards.`;
  $("small").hidden = hasGap && !n;
  setText("small", [hasGap ? "" : comparison.sentence, n ? notShown : ""].filter(Boolean).join(" "));
}

function description(id, comparison, view) {
  const number = numberFormat(view.reward_range);
  const means = comparison.groups.map((group) => `${group.labels[0]} ${number(group.mean)}`).join(", ");
  const { value, low, high } = comparison.gap;
  return {
    gains: `Line chart: mean reward of each group over time, with ${confidence(view)} confidence intervals. Now: ${means}.`,
    gap:
      `Line chart: the gap over time. Now ${number(value)}, ${confidence(view)} confidence interval ` +
      `${number(low)} to ${number(high)}; the tolerance is ${view.tolerance}.`,
    arms: "Bar chart: the contribution of each arm to the gap.",
    exploration: `Bar chart. ${comparison.about.exploration}`,
    missing: "Bar chart: the share of missing rewards of each group.",
  }[id];
}

function drawExploration(id, comparison) {
  const rate = (group) => ({ value: group.exploration_rate });
  drawShares(id, comparison.groups, rate, "share of the group's decisions");
}

function drawMissing(id, comparison) {
  drawShares(id, comparison.groups, (group) => group.missing_share, "share of the group's decisions");
}

const interval = (low, high, format) => `${format(low)} to ${format(high)}`;

function gainsTable({ timeline }, view, name) {
  const number = numberFormat(view.reward_range);
  const heads = ["until (UTC)", ...timeline.groups.map((group) => `${group.labels[0]} (${confidence(view)} CI)`)];
  const rows = timeline.ends.map((end, i) => [
    clock(end, view.time),
    ...timeline.groups.map((group) =>
      group.mean[i] === null ? "–" : `${number(group.mean[i])} (${interval(group.low[i], group.high[i], number)})`,
    ),
  ]);
  return table(name, heads, rows.toReversed());
}

function gapTable({ timeline }, view, name) {
  const number = numberFormat(view.reward_range);
  const rows = gaps(timeline).map((each, i) => [
    clock(timeline.ends[i], view.time),
    number(each?.gap),
    each ? interval(timeline.gap_low[i], timeline.gap_high[i], number) : "–",
  ]);
  return table(name, ["until (UTC)", "gap", `${confidence(view)} CI`], rows.toReversed());
}

function armsTable({ decomposition, gap }, view, name) {
  const number = numberFormat(view.reward_range);
  const fine = (value) => number(value, 1);
  const [advantaged, disadvantaged] = [gap.advantaged[0], gap.disadvantaged[0]];
  const rows = decomposition.arms.map((arm) => [
    arm.arm,
    fine(arm.total),
    fine(arm.exposure_effect),
    fine(arm.within_arm_effect),
    percent(arm.share_advantaged),
    percent(arm.share_disadvantaged),
    number(arm.mean_advantaged),
    number(arm.mean_disadvantaged),
  ]);
  const others = decomposition.n_arms - decomposition.arms.length;
  if (others > 0) rows.push([`the other ${whole(others)} arms`, fine(decomposition.rest), "", "", "", "", "", ""]);
  const heads = ["arm", "contribution", "exposure effect", "within-arm effect"];
  const names = [advantaged, disadvantaged];
  heads.push(...names.map((each) => `exposure of ${each}`), ...names.map((each) => `mean reward of ${each}`));
  return table(name, heads, rows);
}

function explorationTable({ groups }, view, name) {
  const heads = [
    "group",
    "decisions",
    "exploratory",
    "exploration rate",
    "share of all exploration",
    "share of all decisions",
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
    `${percent(group.missing_share.value)} (${interval(group.missing_share.low, group.missing_share.high, percent)})`,
  ]);
  return table(name, ["group", "rewards", "missing", `share missing (${confidence(view)} CI)`], rows);
}
