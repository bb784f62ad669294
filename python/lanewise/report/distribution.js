// SPDX-License-Identifier: BSD-3-Clause
//
// Distribution: the samples of one point, as a histogram above and in the order
// measured below, on one axis of time, with its median and interval marked.
"use strict";

// Bins after Freedman and Diaconis: as wide as the bulk asks, whatever the outliers do.
function binWidth(values, span) {
  const sorted = [...values].sort((a, b) => a - b);
  const quartile = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  const bulk = (2 * (quartile(0.75) - quartile(0.25))) / Math.cbrt(values.length);
  return Math.max(bulk || span / 20, span / 120);
}

function histogram(samples, logarithmic) {
  const into = logarithmic ? Math.log10 : (value) => value;
  const back = logarithmic ? (value) => 10 ** value : (value) => value;
  const values = samples.map(into);
  const low = least(values);
  const span = greatest(values) - low;
  if (span === 0) return { at: [samples[0]], counts: [samples.length], widths: undefined };
  const bins = Math.max(4, Math.ceil(span / binWidth(values, span)));
  const width = span / bins;
  const counts = new Array(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value - low) / width))] += 1;
  const edges = counts.map((_, i) => [back(low + i * width), back(low + (i + 1) * width)]);
  return { at: edges.map((e) => (e[0] + e[1]) / 2), counts, widths: edges.map((e) => e[1] - e[0]) };
}

function spreadTraces(curve, i, colour, logarithmic) {
  const samples = curve.samples_s[i];
  const { at, counts, widths } = histogram(samples, logarithmic);
  return [
    { type: "bar", x: at, y: counts, width: widths, marker: { color: colour, line: { width: 0 } },
      opacity: 0.75, hovertemplate: "%{y} near %{x:.4s}s<extra></extra>" },
    { type: "scatter", mode: "markers", x: samples, y: samples.map((_, n) => n + 1), yaxis: "y2",
      marker: { color: colour, size: samples.length > 200 ? 3 : 4, opacity: 0.6 },
      hovertemplate: "repetition %{y}: %{x:.4s}s<extra></extra>" },
  ];
}

function spreadLayout(curve, i, logarithmic) {
  const samples = curve.samples_s[i];
  const marks = [[curve.low_s[i], curve.high_s[i]]]
    .filter(([low, high]) => low !== null && high > low);
  const ends = [least(samples), greatest(samples)];
  const axis = logarithmic
    ? { type: "log", ...axisTicks(timeTicks(...ends, 4)) }
    : { type: "linear", ...axisTicks(plainTicks(...ends)) };
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
  const extra = curve.repetitions[i] ? [counted(curve.repetitions[i], "repetition")] : [];
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
  const logarithmic = least(samples) > 0 && greatest(samples) > 4 * least(samples);
  const colour = curveColour(curve.run ?? 0);
  const layout = { ...spreadLayout(curve, i, logarithmic), ...sizeFor(place) };
  Plotly.react(place, spreadTraces(curve, i, colour, logarithmic), layout,
    { ...config, displayModeBar: false });
  place.dataset.samples = samples.length;
}

function markRow(figure, index, i) {
  const table = document.getElementById(`${figure.id}-table`);
  if (!table) return;
  for (const row of table.querySelectorAll("tr.shown")) row.classList.remove("shown");
  const row = table.querySelector(`tr[data-point="${index}:${i}"]`);
  if (row) row.classList.add("shown");
}
