// SPDX-License-Identifier: BSD-3-Clause
//
// Curves: the median of each point against message size, both logarithmic, with
// a band for its interval; dots in rows where an operation has a single size.
"use strict";

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
  const colour = curveColour(curve.run);
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
    ...curveLook(curve.run),
  };
}

function spanOf(values, margin) {
  const low = least(values);
  const high = greatest(values);
  return [Math.log10(low / margin), Math.log10(high * margin)];
}

// Operations of a single size, such as a barrier, are dots in a row a run.
function dotFigure(figure) {
  const kept = figure.curves.map((curve, index) => [curve, index])
    .filter(([curve]) => curve.median_s[0] > 0);
  const traces = kept.map(([curve, index]) => {
    const dot = line(curve, [0], [curve.label], index);
    const bars = { ...dot.error_y };
    return { ...dot, x: dot.y, y: dot.x, error_y: undefined, error_x: bars };
  });
  const last = Math.max(0, ...kept.map(([curve]) => bandHigh(curve, 0)));
  const layout = {
    ...layoutLook(), showlegend: false, margin: { l: 8, r: 24, t: 28, b: 48 },
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
    if (kept.length > 1) traces.push(band(curve, kept, places, curveColour(curve.run)));
    traces.push(line(curve, kept, places, index));
    xs.push(...places);
    ys.push(...kept.flatMap((i) => [curve.median_s[i], bandLow(curve, i), bandHigh(curve, i)]));
  });
  const hasZero = curves.some((curve) => curve.bytes.includes(0));
  if (!traces.length) return { traces };
  const layout = curveLayout(figure.runs > 1, spanOf(xs, 1.3), spanOf(ys, 1.25));
  return { traces, layout, zeroAt: hasZero ? zero : null };
}

function curveLayout(legend, xRange, yRange) {
  return {
    ...layoutLook(), showlegend: legend, margin: { l: 64, r: 10, t: legend ? 36 : 28, b: 48 },
    legend: { orientation: "h", x: 0, y: 1.01, xanchor: "left", yanchor: "bottom" },
    xaxis: { ...axisLook(), type: "log", range: xRange,
             title: { text: "message size", standoff: 8 } },
    yaxis: { ...axisLook(), type: "log", range: yRange, title: { text: "time", standoff: 4 } },
  };
}

// Ticks follow the range that is shown, so that a zoomed figure still has some.
function tickUpdate(ranges, zeroAt) {
  const [xLow, xHigh] = ranges.x.map((value) => 10 ** value);
  const [yLow, yHigh] = ranges.y.map((value) => 10 ** value);
  const x = axisTicks(sizeTicks(xLow, xHigh, zeroAt));
  const y = axisTicks(timeTicks(yLow, yHigh, 10));
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
  if (!traces.length) {
    place.textContent = "No point of this operation has a positive time.";
    return;
  }
  if (single) place.style.height = `${6.5 + 1.75 * traces.length}rem`;
  Plotly.react(place, traces, { ...layout, ...sizeFor(place) }, config);
  if (!single) retick(place, zeroAt);
  if (place.dataset.curves) return;
  place.dataset.curves = traces.filter((trace) => trace.name).length;
  shown.figures += 1;
  shown.curves += Number(place.dataset.curves);
  if (!single) place.on("plotly_relayout", () => retick(place, zeroAt));
  followPointer(place, ({ customdata }) => { if (customdata) showPoint(figure, ...customdata); });
}

function followPointer(place, show) {
  for (const event of ["plotly_hover", "plotly_click"]) {
    place.on(event, ({ points }) => show(points[0]));
  }
}
