// The charts. Each shows the same numbers as its table.

import { confidence, percent } from "./dom.js";
import { band, draw, shorten } from "./plot.js";
import { escaped, faint, theme } from "./theme.js";

// The range around the means. The first intervals, which are as wide as possible, are cut off.
function zoom(lows, highs, means, range) {
  const known = (values) => values.filter((value) => value !== null);
  const late = means.flatMap((line) => known(line).slice(Math.floor(known(line).length / 10)));
  const low = Math.min(...late, ...lows);
  const high = Math.max(...late, ...highs);
  const edge = 0.3 * (high - low) || 0.01 * (range[1] - range[0]);
  return [Math.max(low - edge, range[0] - edge), Math.min(high + edge, range[1] + edge)];
}

const last = (values) => values.findLast((value) => value !== null);

// The lowest mean and the gap at each time.
export function gaps(timeline) {
  return timeline.ends.map((_, i) => {
    const means = timeline.groups.map((group) => group.mean[i]).filter((mean) => mean !== null);
    return means.length > 1 ? { lowest: Math.min(...means), gap: Math.max(...means) - Math.min(...means) } : null;
  });
}

export function drawGains(id, comparison, view) {
  const look = theme();
  const { ends, groups } = comparison.timeline;
  const lowest = gaps(comparison.timeline).map((each) => (each ? each.lowest : null));
  const tolerated = lowest.map((mean) => (mean === null ? null : mean + view.tolerance));
  const traces = band(
    ends,
    lowest,
    tolerated,
    faint(look.tolerated, 0.35),
    `within ${view.tolerance} of the lowest mean`,
  );
  groups.forEach((group) => {
    traces.push(...band(ends, group.low, group.high, faint(look.group(group.place).colour, 0.18)));
  });
  groups.forEach((group) => {
    const { colour, dash } = look.group(group.place);
    traces.push({
      x: ends,
      y: group.mean,
      name: escaped(group.labels[0]),
      mode: "lines",
      line: { color: colour, dash, width: 2.5 },
      hovertemplate: `${escaped(group.labels[0])}: %{y:.4~f}<br>%{x}<extra></extra>`,
    });
  });
  const range = zoom(
    groups.map((g) => last(g.low)),
    groups.map((g) => last(g.high)),
    groups.map((g) => g.mean),
    view.reward_range,
  );
  draw(id, traces, { yaxis: { range, label: "mean reward" }, xaxis: { type: "date" } });
}

export function drawGap(id, comparison, view) {
  const look = theme();
  const { ends, gap_low: low, gap_high: high } = comparison.timeline;
  const gap = gaps(comparison.timeline).map((each) => (each ? each.gap : null));
  const ink = comparison.conclusion === "unfair" ? look.bad : look.ink;
  const top =
    1.15 *
    Math.max(
      view.tolerance * 2,
      last(high) ?? 0,
      ...gap.filter((g) => g !== null).slice(Math.floor(gap.length / 10)),
    );
  const traces = [
    ...band(ends, low, high, faint(ink, 0.16), `${confidence(view)} confidence interval`),
    {
      x: ends,
      y: gap,
      name: "gap",
      mode: "lines",
      line: { color: ink, width: 2.5 },
      hovertemplate: "gap %{y:.4~f}<br>%{x}<extra></extra>",
    },
    {
      x: [ends[0], ends.at(-1)],
      y: [view.tolerance, view.tolerance],
      name: `tolerance: ${view.tolerance}`,
      mode: "lines",
      line: { color: look.soft, dash: "dash", width: 2 },
      hoverinfo: "skip",
    },
  ];
  const since = comparison.conclusion === "unfair" && comparison.since ? [mark(comparison.since, look)] : [];
  draw(id, traces, {
    ...(since.length
      ? { shapes: since.map((each) => each.line), annotations: since.map((each) => each.text) }
      : {}),
    yaxis: { range: [0, top], label: "gap" },
    xaxis: { type: "date" },
  });
}

function mark(since, look) {
  const x = since.replace("Z", "");
  return {
    line: {
      type: "line",
      x0: x,
      x1: x,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: { color: look.bad, width: 1.5, dash: "dot" },
    },
    text: {
      x,
      yref: "paper",
      y: 1,
      text: "since",
      showarrow: false,
      xanchor: "left",
      yanchor: "top",
      xshift: 4,
      font: { color: look.bad },
    },
  };
}

// An axis of names, placed by number, because shortened names may be equal.
const named = (names) => ({
  tickvals: names.map((_, i) => i),
  ticktext: names.map((name) => escaped(shorten(name))),
  showgrid: false,
  zeroline: false,
});

// Error bars, if the estimates have intervals.
function whiskers(estimates, colour) {
  return {
    type: "data",
    symmetric: false,
    array: estimates.map((each) => (each.high ?? each.value) - each.value),
    arrayminus: estimates.map((each) => each.value - (each.low ?? each.value)),
    visible: estimates.some((each) => each.high !== undefined),
    color: colour,
    thickness: 1.2,
    width: 3,
  };
}

export function drawArms(id, comparison) {
  const look = theme();
  const arms = comparison.decomposition.arms.toReversed();
  const y = arms.map((_, i) => i);
  const hover = {
    customdata: arms.map((arm) => escaped(arm.arm)),
    hovertemplate: "%{customdata}: %{x:.4~f}<extra></extra>",
  };
  const bar = { type: "bar", orientation: "h", y, ...hover };
  draw(
    id,
    [
      { ...bar, x: arms.map((arm) => arm.exposure_effect), name: "exposure effect", marker: { color: look.exposure } },
      {
        ...bar,
        x: arms.map((arm) => arm.within_arm_effect),
        name: "within-arm effect",
        marker: {
          color: look.withinArm,
          pattern: { shape: "/", bgcolor: look.withinArm, fgcolor: look.page, size: 6, solidity: 0.3 },
        },
      },
      {
        x: arms.map((arm) => arm.total),
        y,
        name: "total",
        mode: "markers",
        marker: { color: look.ink, symbol: "diamond", size: 7 },
        ...hover,
      },
    ],
    {
      barmode: "relative",
      bargap: 0.35,
      yaxis: named(arms.map((arm) => arm.arm)),
      xaxis: { label: "contribution to the gap", zerolinecolor: look.soft },
    },
  );
}

// A bar for the share of each group, with its interval if there is one.
export function drawShares(id, groups, share, label) {
  const look = theme();
  const shown = groups.toReversed();
  const places = shown.map((_, i) => i);
  const values = shown.map((group) => share(group));
  const most = Math.max(...values.map((each) => each.high ?? each.value), 0.01);
  document.getElementById(id).style.height = `${5 + 2.2 * shown.length}rem`;
  draw(
    id,
    [
      {
        type: "bar",
        orientation: "h",
        y: places,
        customdata: shown.map((group) => escaped(group.labels[0])),
        x: values.map((each) => each.value),
        marker: { color: shown.map((group) => look.group(group.place).colour) },
        hovertemplate: "%{customdata}: %{x:.1%}<extra></extra>",
        error_x: whiskers(values, look.ink),
      },
    ],
    {
      showlegend: false,
      bargap: 0.4,
      annotations: shown.map((group, i) => ({
        x: values[i].high ?? values[i].value,
        y: i,
        text: percent(values[i].value),
        showarrow: false,
        xanchor: "left",
        xshift: 6,
      })),
      yaxis: named(shown.map((group) => group.labels[0])),
      xaxis: { tickformat: most < 0.05 ? ".1%" : ".0%", range: [0, 1.3 * most], label },
    },
  );
}
