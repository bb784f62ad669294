// SPDX-License-Identifier: BSD-3-Clause
//
// Distribution: the samples of one point, as a histogram above and in the order
// measured below, on one axis of time, with its median and interval marked.
"use strict";

// The ends of each bin in seconds; those of samples that are alike are the same.
function edgesOf({ low, width, counts, logarithmic }) {
  const back = logarithmic ? (value) => 10 ** value : (value) => value;
  return counts.map((_, i) => [back(low + i * width), back(low + (i + 1) * width)]);
}

// Samples that are alike have no span: theirs holds median and interval, and ticks that differ.
function spreadRange(curve, i) {
  const { low, width } = curve.histograms[i];
  if (width > 0) return undefined;
  const away = [curve.median_s[i], curve.low_s[i], curve.high_s[i]]
    .filter((mark) => mark !== null).map((mark) => Math.abs(mark - low));
  const half = Math.max(1.1 * greatest(away), Math.abs(low) / 40) || 1e-9;
  return [low - half, low + half];
}

function spreadTraces(curve, i, colour) {
  const samples = curve.samples_s[i];
  const edges = edgesOf(curve.histograms[i]);
  const [from, to] = spreadRange(curve, i) ?? [0, 0];
  return [
    { type: "bar", x: edges.map((e) => (e[0] + e[1]) / 2), y: curve.histograms[i].counts,
      width: edges.map((e) => e[1] - e[0] || (to - from) / 30),
      marker: { color: colour, line: { width: 0 } }, opacity: 0.75,
      hovertemplate: "%{y} near %{x:.4s}s<extra></extra>" },
    { type: "scatter", mode: "markers", x: samples,
      y: curve.numbers[i] ?? samples.map((_, n) => n + 1), yaxis: "y2",
      marker: { color: colour, size: samples.length > 200 ? 3 : 4, opacity: 0.6 },
      hovertemplate: "repetition %{y}: %{x:.4s}s<extra></extra>" },
  ];
}

function spreadLayout(curve, i) {
  const marks = [[curve.low_s[i], curve.high_s[i]]]
    .filter(([low, high]) => low !== null && high > low);
  const edges = edgesOf(curve.histograms[i]);
  const range = spreadRange(curve, i);
  const ends = range ?? [edges[0][0], edges.at(-1)[1]];
  const axis = curve.histograms[i].logarithmic
    ? { type: "log", ...axisTicks(timeTicks(...ends, 4)) }
    : { type: "linear", range, ...axisTicks(plainTicks(...ends)) };
  return {
    ...layoutLook(), showlegend: false, bargap: 0, margin: { l: 58, r: 8, t: 4, b: 40 },
    xaxis: { ...axisLook(), ...axis, fixedrange: true, anchor: "y2",
             title: { text: "time of one repetition", standoff: 6 } },
    yaxis: { ...axisLook(), domain: [0.52, 1], fixedrange: true, nticks: 4,
             title: { text: "count", standoff: 4 } },
    yaxis2: { ...axisLook(), domain: [0, 0.46], autorange: "reversed", fixedrange: true, nticks: 4,
              title: { text: "repetition", standoff: 4 } },
    shapes: [
      ...marks.map(([low, high]) => ({ type: "rect", xref: "x", yref: "paper", x0: low, x1: high,
        y0: 0, y1: 1, fillcolor: style("--soft"), opacity: 0.18, line: { width: 0 } })),
      { type: "line", xref: "x", yref: "paper", x0: curve.median_s[i], x1: curve.median_s[i],
        y0: 0, y1: 1, line: { color: style("--ink"), width: 1, dash: "dot" } },
    ],
  };
}

function pointWords(curve, i) {
  const dots = curve.numbers[i] ? ` (${curve.numbers[i].length} of them as dots)` : "";
  const extra = curve.repetitions[i] ? [counted(curve.repetitions[i], "repetition") + dots] : [];
  if (curve.late[i]) extra.push(`${curve.late[i]} late`);
  if (curve.outliers[i]) extra.push(counted(curve.outliers[i], "outlier"));
  const number = curve.number[i] === "mean" ? "Mean" : "Median";
  const words = [extra.join(", "), curve.stopped_text[i]].filter((one) => one).join("; ");
  const how = words.charAt(0).toUpperCase() + words.slice(1);
  if (curve.low_s[i] === null) {
    const why = curve.samples_s[i].length ? "too few repetitions for an interval"
      : "no samples, and so no interval";
    return [`${number} ${timeText(curve.median_s[i])}; ${why}.`, `${how}.`];
  }
  const over = curve.launches[i] > 1 ? ` over ${curve.launches[i]} launches` : " within 1 launch";
  return [
    `${number} ${timeText(curve.median_s[i])}, interval${over} ${timeText(curve.low_s[i])} to ` +
      `${timeText(curve.high_s[i])}.`,
    `${how}.`,
  ];
}

function showPoint(figure, index, i) {
  const curve = figure.curves[index];
  const panel = document.getElementById(`${figure.id}-distribution`);
  figure.at = [index, i];
  panel.querySelector("h3").textContent = `${curve.point_text[i]}`;
  const words = pointWords(curve, i);
  panel.querySelector(".who").textContent = curve.label;
  panel.querySelector(".what").textContent = words[0];
  panel.querySelector(".how").textContent = words[1];
  panel.dataset.point = `${index}:${i}`;
  markRow(figure, index, i);
  const place = panel.querySelector(".spread");
  const samples = curve.samples_s[i];
  if (!samples.length) { Plotly.purge(place); place.textContent = "No samples were kept."; return; }
  const colour = curveColour(curve.run ?? 0);
  const layout = { ...spreadLayout(curve, i), ...sizeFor(place) };
  Plotly.react(place, spreadTraces(curve, i, colour), layout, { ...config, displayModeBar: false });
  place.dataset.samples = samples.length;
}

function markRow(figure, index, i) {
  const table = document.getElementById(`${figure.id}-table`);
  if (!table) return;
  for (const row of table.querySelectorAll("tr.shown")) row.classList.remove("shown");
  const row = table.querySelector(`tr[data-point="${index}:${i}"]`);
  if (row) row.classList.add("shown");
}
