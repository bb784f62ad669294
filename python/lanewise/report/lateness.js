// SPDX-License-Identifier: BSD-3-Clause
//
// Lateness: what each rank did, as bars that add up to its run, and beside them how late it was.
"use strict";

function drawLateness(place, figure) {
  const kinds = [
    ["outside collectives", figure.outside_s, style("--line")],
    ["transfer", figure.transfer_s, style("--curve-1")],
    ["waiting for late ranks", figure.waiting_s, style("--curve-2")],
  ];
  if (greatest(figure.unattributed_s) > 0) {
    kinds.push(["in calls that are not attributed", figure.unattributed_s, style("--curve-3")]);
  }
  const bar = { type: "bar", orientation: "h", y: figure.names };
  const traces = kinds.map(([name, values, color]) => ({
    ...bar, name, x: values, marker: { color }, text: values.map(timeText), textposition: "none",
    hovertemplate: `%{y}<br>${name}: <b>%{text}</b><extra></extra>`,
  }));
  traces.push({
    ...bar, name: "late", x: figure.lateness_s, xaxis: "x2", showlegend: false,
    marker: { color: style("--curve-8") }, text: figure.lateness_s.map(timeText),
    textposition: figure.names.length <= 32 ? "auto" : "none", cliponaxis: false,
    hovertemplate: "%{y}<br>late: <b>%{text}</b><extra></extra>",
  });
  const runs = figure.names.map((_, n) => kinds.reduce((sum, kind) => sum + kind[1][n], 0));
  const axis = (ticks, title) => ({
    ...axisLook(), rangemode: "tozero", fixedrange: true,
    ...axisTicks(ticks), title: { text: title, standoff: 8 },
  });
  const ticksOf = (values) => plainTicks(0, greatest(values) || 1);
  const late = ticksOf(figure.lateness_s);
  Plotly.react(place, traces, {
    ...layoutLook(), ...sizeFor(place), barmode: "stack", bargap: 0.3,
    margin: { l: 8, r: 24, t: 8, b: 8 },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
    xaxis: { ...axis(ticksOf(runs), "time of the rank"), domain: [0, 0.62], automargin: true },
    // On a narrow screen there is room for the first and the last tick.
    xaxis2: { ...axis([late[0], ...late.slice(1).slice(-1)], "sum of its lateness"),
              domain: [0.68, 1], automargin: true },
    yaxis: { ...axisLook(), type: "category", autorange: "reversed", automargin: true,
             showgrid: false, ticks: "", fixedrange: true },
  }, config);
  if (place.dataset.bars) return;
  place.dataset.bars = figure.names.length;
  shown.figures += 1;
  shown.bars += figure.names.length;
}
