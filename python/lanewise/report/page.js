// SPDX-License-Identifier: BSD-3-Clause
//
// The figures of the report.  The page carries its data as one JSON object;
// this script draws each figure as SVG, shows the samples of the point under
// the pointer beside it, and writes into the root element what it drew
// (data-figures, data-curves, data-cells), so that a test can ask the page.
"use strict";

const report = JSON.parse(document.getElementById("report-data").textContent);
const symbols = ["circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star", "cross"];
const shown = { figures: 0, curves: 0, cells: 0 };

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const curveColour = (index) => style(`--curve-${(index % 8) + 1}`);

// ---- quantities ----

const timeUnits = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const sizeUnits = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

function timeParts(seconds) {
  const [scale, unit] = timeUnits.find(([s]) => Math.abs(seconds) >= s * 0.9995) ?? timeUnits[3];
  return [seconds / scale, unit];
}

function timeText(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "—";
  if (seconds === 0) return "0 s";
  const [value, unit] = timeParts(seconds);
  return `${value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))))} ${unit}`;
}

function timeTick(seconds) {
  const [value, unit] = timeParts(seconds);
  return `${Number(value.toPrecision(3))} ${unit}`;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function sizeText(bytes) {
  const [scale, unit] = sizeUnits.find(([s]) => bytes >= s) ?? sizeUnits[3];
  return `${Number((bytes / scale).toFixed(2))} ${unit}`;
}

// ---- axes ----

// A size of zero has no place on a logarithmic axis: it stands two octaves left of the smallest.
function zeroPlace(curves) {
  const positive = curves.flatMap((curve) => curve.bytes).filter((bytes) => bytes > 0);
  return positive.length ? Math.min(...positive) / 4 : 1;
}

function sizeTicks(low, high, zeroAt) {
  const first = Math.ceil(Math.log2(low) - 1e-9);
  const last = Math.floor(Math.log2(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 7));
  const places = [];
  for (let power = first; power <= last; power += step) places.push(2 ** power);
  const ticks = places.filter((at) => at >= 1 && (zeroAt === null || at > zeroAt * 2))
    .map((at) => [at, sizeText(at)]);
  return zeroAt === null ? ticks : [[zeroAt, "0"], ...ticks];
}

function timeTicks(low, high) {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) {
      const at = step * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) ticks.push([at, timeTick(at)]);
    }
  }
  return ticks.length > 1 ? ticks : [[low, timeTick(low)], [high, timeTick(high)]];
}

function plainTicks(low, high) {
  const rough = (high - low) / 4 || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) {
    ticks.push([n * step, n === 0 ? "0" : timeTick(n * step)]);
  }
  return ticks;
}

const axisTicks = (ticks) => ({
  tickmode: "array", tickvals: ticks.map((t) => t[0]), ticktext: ticks.map((t) => t[1]),
});

function axisLook() {
  return {
    color: style("--soft"), gridcolor: style("--grid"), linecolor: style("--line"), zeroline: false,
    showline: true, ticks: "outside", tickcolor: style("--line"), ticklen: 4, fixedrange: false,
    tickfont: { size: 12 }, title: { font: { size: 12 }, standoff: 8 },
  };
}

function layoutLook() {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
    font: { family: style("--sans"), size: 12, color: style("--ink") },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: style("--soft"), activecolor: style("--ink") },
    hoverlabel: { bgcolor: style("--paper"), bordercolor: style("--line"), align: "left",
                  font: { family: style("--sans"), size: 12, color: style("--ink") } },
  };
}

const config = {
  responsive: true, displaylogo: false, doubleClick: "reset",
  modeBarButtons: [["toImage", "resetScale2d"]], toImageButtonOptions: { format: "svg" },
};

// ---- curves ----

function hoverText(curve, i) {
  const late = curve.late[i] ? `, ${curve.late[i]} late` : "";
  return `<b>${timeText(curve.median_s[i])}</b> at ${sizeText(curve.bytes[i])}<br>` +
    `${timeText(curve.low_s[i])} to ${timeText(curve.high_s[i])}<br>` +
    `${counted(curve.repetitions[i], "repetition")}${late}<br>${curve.label}`;
}

function drawable(curve) {
  return curve.median_s.map((median, i) => i).filter((i) => curve.median_s[i] > 0);
}

// An interval may be missing, or reach below what a logarithmic axis can show.
const bandLow = (curve, i) => Math.max(curve.low_s[i] ?? curve.median_s[i], curve.median_s[i] / 10);
const bandHigh = (curve, i) => curve.high_s[i] ?? curve.median_s[i];

function band(curve, kept, places, colour) {
  const back = [...kept].reverse();
  return {
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: curve.label,
    x: [...places, ...[...places].reverse()],
    y: [...kept.map((i) => bandHigh(curve, i)), ...back.map((i) => bandLow(curve, i))],
    fill: "toself", fillcolor: colour, opacity: 0.2, line: { width: 0 },
  };
}

function line(curve, kept, places, index) {
  const colour = curveColour(index);
  const bars = kept.length > 1 ? undefined : {
    type: "data", symmetric: false, thickness: 1.2, width: 6, color: colour,
    array: kept.map((i) => bandHigh(curve, i) - curve.median_s[i]),
    arrayminus: kept.map((i) => curve.median_s[i] - bandLow(curve, i)),
  };
  return {
    type: "scatter", mode: kept.length > 1 ? "lines+markers" : "markers", name: curve.label,
    legendgroup: curve.label, x: places, y: kept.map((i) => curve.median_s[i]), error_y: bars,
    text: kept.map((i) => hoverText(curve, i)), customdata: kept.map((i) => [index, i]),
    hovertemplate: "%{text}<extra></extra>",
    line: { color: colour, width: 1.8 },
    marker: { color: colour, size: 6, symbol: symbols[index % symbols.length] },
  };
}

function spanOf(values, margin) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return [Math.log10(low / margin), Math.log10(high * margin)];
}

// Operations of a single size, such as a barrier, are dots in a row a run.
function dotFigure(figure) {
  const kept = figure.curves.map((curve, index) => [curve, index]).filter(([c]) => c.median_s[0] > 0);
  const traces = kept.map(([curve, index]) => {
    const dot = line(curve, [0], [curve.label], index);
    const bars = { ...dot.error_y };
    return { ...dot, x: dot.y, y: dot.x, error_y: undefined, error_x: bars };
  });
  const last = Math.max(0, ...kept.map(([curve]) => bandHigh(curve, 0)));
  const layout = {
    ...layoutLook(), showlegend: false, margin: { l: 8, r: 24, t: 10, b: 48 },
    xaxis: { ...axisLook(), ...axisTicks(plainTicks(0, last)), type: "linear",
             range: [0, last * 1.05], title: { text: "time", standoff: 8 } },
    yaxis: { ...axisLook(), type: "category", automargin: true, showgrid: false, ticks: "",
             autorange: "reversed" },
  };
  return { traces, layout, zeroAt: undefined };
}

function curveFigure(figure) {
  const { curves } = figure;
  const zero = zeroPlace(curves);
  const traces = [];
  const xs = [];
  const ys = [];
  curves.forEach((curve, index) => {
    const kept = drawable(curve);
    if (!kept.length) return;
    const places = kept.map((i) => (curve.bytes[i] > 0 ? curve.bytes[i] : zero));
    if (kept.length > 1) traces.push(band(curve, kept, places, curveColour(index)));
    traces.push(line(curve, kept, places, index));
    xs.push(...places);
    ys.push(...kept.flatMap((i) => [curve.median_s[i], bandLow(curve, i), bandHigh(curve, i)]));
  });
  const hasZero = curves.some((curve) => curve.bytes.includes(0));
  const layout = traces.length ? curveLayout(curves.length > 1, spanOf(xs, 1.3), spanOf(ys, 1.25)) : {};
  return { traces, layout, zeroAt: hasZero ? zero : null };
}

function curveLayout(legend, xRange, yRange) {
  return {
    ...layoutLook(), showlegend: legend, margin: { l: 64, r: 10, t: legend ? 36 : 10, b: 48 },
    legend: { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom" },
    xaxis: { ...axisLook(), type: "log", range: xRange, title: { text: "message size", standoff: 8 } },
    yaxis: { ...axisLook(), type: "log", range: yRange, title: { text: "time", standoff: 4 } },
  };
}

// Ticks follow the range that is shown, so that a zoomed figure still has some.
function tickUpdate(ranges, zeroAt) {
  const [xLow, xHigh] = ranges.x.map((value) => 10 ** value);
  const [yLow, yHigh] = ranges.y.map((value) => 10 ** value);
  const x = axisTicks(sizeTicks(xLow, xHigh, zeroAt));
  const y = axisTicks(timeTicks(yLow, yHigh));
  return {
    "xaxis.tickmode": x.tickmode, "xaxis.tickvals": x.tickvals, "xaxis.ticktext": x.ticktext,
    "yaxis.tickmode": y.tickmode, "yaxis.tickvals": y.tickvals, "yaxis.ticktext": y.ticktext,
  };
}

function retick(place, zeroAt) {
  const { xaxis, yaxis } = place._fullLayout;
  const update = tickUpdate({ x: xaxis.range, y: yaxis.range }, zeroAt);
  if (JSON.stringify(update["xaxis.tickvals"]) === JSON.stringify(xaxis.tickvals) &&
      JSON.stringify(update["yaxis.tickvals"]) === JSON.stringify(yaxis.tickvals)) return;
  Plotly.relayout(place, update);
}

function drawCurves(place, figure) {
  const single = new Set(figure.curves.flatMap((curve) => curve.bytes)).size === 1;
  const { traces, layout, zeroAt } = single ? dotFigure(figure) : curveFigure(figure);
  if (!traces.length) { place.textContent = "No point of this operation has a positive time."; return; }
  if (single) place.style.height = `${5.5 + 1.75 * traces.length}rem`;
  Plotly.react(place, traces, layout, config);
  if (!single) retick(place, zeroAt);
  if (place.dataset.curves) return;
  place.dataset.curves = traces.filter((trace) => trace.name).length;
  shown.figures += 1;
  shown.curves += Number(place.dataset.curves);
  if (!single) place.on("plotly_relayout", () => retick(place, zeroAt));
  followPointer(place, ({ customdata }) => { if (customdata) showPoint(figure, ...customdata); });
}

function followPointer(place, show) {
  for (const event of ["plotly_hover", "plotly_click"]) place.on(event, ({ points }) => show(points[0]));
}

// ---- one point's samples ----

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
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
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
  const marks = [[curve.low_s[i], curve.high_s[i]]].filter(([low, high]) => low !== null && high > low);
  const ends = [Math.min(...samples), Math.max(...samples)];
  const axis = logarithmic
    ? { type: "log", ...axisTicks(timeTicks(...ends)) }
    : { type: "linear", ...axisTicks(plainTicks(...ends)) };
  return {
    ...layoutLook(), showlegend: false, bargap: 0, margin: { l: 44, r: 8, t: 4, b: 40 },
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
  const extra = [counted(curve.repetitions[i], "repetition")];
  if (curve.late[i]) extra.push(`${curve.late[i]} late`);
  if (curve.outliers[i]) extra.push(counted(curve.outliers[i], "outlier"));
  if (curve.low_s[i] === null) {
    return [`Median ${timeText(curve.median_s[i])}; too few repetitions for an interval.`,
      `${extra.join(", ")}; ${curve.stopped_text[i]}.`];
  }
  return [
    `Median ${timeText(curve.median_s[i])}, interval ${timeText(curve.low_s[i])} to ` +
      `${timeText(curve.high_s[i])}.`,
    `${extra.join(", ")}; ${curve.stopped_text[i]}.`,
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
  const logarithmic = Math.min(...samples) > 0 && Math.max(...samples) > 4 * Math.min(...samples);
  const colour = figure.kind === "heat" ? curveColour(0) : curveColour(index);
  Plotly.react(place, spreadTraces(curve, i, colour, logarithmic),
    spreadLayout(curve, i, logarithmic), { ...config, displayModeBar: false });
  place.dataset.samples = samples.length;
}

function markRow(figure, index, i) {
  const table = document.getElementById(`${figure.id}-table`);
  if (!table) return;
  for (const row of table.querySelectorAll("tr.shown")) row.classList.remove("shown");
  const row = table.querySelector(`tr[data-point="${index}:${i}"]`);
  if (row) row.classList.add("shown");
}

// ---- heat maps ----

function drawHeat(place, figure) {
  const cells = figure.cells;
  const small = figure.names.length <= 12;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.dataset.printing;
  const times = cells.z.flat().filter((value) => value !== null);
  const ends = [Math.min(...times), Math.max(...times)];
  const trace = {
    type: "heatmap", x: figure.names, y: figure.names, z: cells.z, text: cells.text, xgap: 1, ygap: 1,
    hovertemplate: "%{y} to %{x}<br><b>%{text}</b><extra></extra>", hoverongaps: false,
    texttemplate: small ? "%{text}" : "", textfont: { size: 11 },
    colorscale: dark ? [[0, "#1c2733"], [1, "#3f7cc4"]] : [[0, "#e8f0fa"], [1, "#1a5fb4"]],
    colorbar: { thickness: 10, outlinewidth: 0, len: 0.9, tickfont: { color: style("--soft") },
                ...axisTicks(plainTicks(...ends)) },
  };
  const axis = { ...axisLook(), type: "category", showgrid: false, showline: false, ticks: "" };
  Plotly.react(place, [trace], {
    ...layoutLook(), margin: { l: 8, r: 8, t: 8, b: 8 },
    xaxis: { ...axis, automargin: true, side: "top" },
    yaxis: { ...axis, automargin: true, autorange: "reversed" },
  }, config);
  if (place.dataset.cells) return;
  place.dataset.cells = times.length;
  shown.figures += 1;
  shown.cells += Number(place.dataset.cells);
  followPointer(place, ({ pointIndex: [row, column] }) => {
    const point = cells.point[row][column];
    if (point !== null) showPoint(figure, 0, point);
  });
}

// ---- the page ----

function draw(figure) {
  const place = document.getElementById(`${figure.id}-plot`);
  if (figure.kind === "heat") drawHeat(place, figure);
  if (figure.kind === "curves") drawCurves(place, figure);
  showPoint(figure, ...(figure.at ?? figure.first));
}

function drawAll() {
  for (const figure of report.figures) draw(figure);
  Object.assign(document.documentElement.dataset, shown);
}

function followTables() {
  for (const row of document.querySelectorAll("tr[data-point]")) {
    const figure = report.figures.find((f) => `${f.id}-table` === row.closest("table").id);
    const [index, i] = row.dataset.point.split(":").map(Number);
    row.addEventListener("click", () => showPoint(figure, index, i));
  }
}

function openForPrint() {
  document.documentElement.dataset.printing = "yes";
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    part.dataset.opened = "yes";
  }
  drawAll();
}

function closeAfterPrint() {
  delete document.documentElement.dataset.printing;
  for (const part of document.querySelectorAll("details[data-opened]")) part.open = false;
  drawAll();
}

drawAll();
followTables();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
window.addEventListener("beforeprint", openForPrint);
window.addEventListener("afterprint", closeAfterPrint);
document.documentElement.dataset.ready = "yes";
