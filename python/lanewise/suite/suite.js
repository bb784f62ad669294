// SPDX-License-Identifier: BSD-3-Clause
//
// Suite: draws each figure of the page from its data, one line per transport with its interval,
// and writes what it drew into the root element (data-figures, data-curves).
"use strict";

const suite = JSON.parse(document.getElementById("report-data").textContent);

const rateUnits = [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];
const countUnits = [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]];

function scaled(units, value, digits) {
  const [scale, unit] = units.find(([s]) => Math.abs(value) >= s * 0.9995) ?? units.at(-1);
  return `${Number((value / scale).toPrecision(digits))} ${unit}`;
}

const writers = {
  time: (value) => timeText(value),
  bytes: (value) => sizeText(value),
  rate: (value) => scaled(rateUnits, value, 3),
  count: (value) => scaled(countUnits, value, 3),
  share: (value) => `${(100 * value).toFixed(1)} %`,
  ranks: (value) => `${value}`,
};
const wholeShare = (value) => `${Math.round(100 * value)} %`;
const tickWriters = { ...writers, time: timeTick, share: wholeShare };

// Every whole decade, with halves between where there are few decades.
function decades(low, high, write) {
  const wide = Math.log10(high / low) > 2.5;
  const steps = wide ? [1] : [1, 2, 5];
  return decadeTicks(low, high, steps).map(([at]) => [at, write(at)]);
}

function linearTicks(low, high, write) {
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) {
    ticks.push([n * step, write(n * step)]);
  }
  return ticks;
}

function ticksOf(axis, low, high) {
  const write = tickWriters[axis.unit];
  if (axis.at) return axis.at.map((at) => [at, write(at)]);
  if (axis.unit === "bytes") return sizeTicks(low, high, null);
  return axis.log ? decades(low, high, write) : linearTicks(low, high, write);
}

function axisOf(axis, values) {
  const low = axis.low ?? least(values);
  const high = axis.high ?? greatest(values);
  const margin = axis.log ? 1.25 : 0;
  const range = axis.log ? [Math.log10(low / margin), Math.log10(high * margin)]
    : [low, high + (high - low) * 0.04];
  const [from, to] = axis.log ? range.map((power) => 10 ** power) : range;
  return {
    ...axisLook(), ...axisTicks(ticksOf(axis, from, to)), type: axis.log ? "log" : "linear", range,
    title: { text: axis.label, standoff: 8 }, automargin: true,
  };
}

function bandOf(curve, kept, colour) {
  const back = [...kept].reverse();
  return {
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: curve.label,
    x: [...kept, ...back].map((i) => curve.x[i]),
    y: [...kept.map((i) => curve.high[i] ?? curve.y[i]),
        ...back.map((i) => curve.low[i] ?? curve.y[i])],
    fill: "toself", fillcolor: colour, opacity: 0.18, line: { width: 0 },
  };
}

function lineOf(figure, curve, kept) {
  const write = writers[figure.y.unit];
  const says = (i) => `<b>${write(curve.y[i])}</b> ${writers[figure.x.unit](curve.x[i])}<br>` +
    `${curve.text[i]}<br>${curve.label}`;
  return {
    type: "scatter", mode: "lines+markers", name: curve.label, legendgroup: curve.label,
    x: kept.map((i) => curve.x[i]), y: kept.map((i) => curve.y[i]), text: kept.map(says),
    hovertemplate: "%{text}<extra></extra>",
    ...curveLook(curve.colour),
  };
}

function drawFigure(figure) {
  const place = document.getElementById(figure.id);
  const traces = [];
  const xs = [];
  const ys = [];
  for (const curve of figure.curves) {
    const kept = curve.x.map((_, i) => i)
      .filter((i) => curve.y[i] !== null && (!figure.y.log || curve.y[i] > 0));
    if (!kept.length) continue;
    const colour = curveColour(curve.colour);
    traces.push(bandOf(curve, kept, colour), lineOf(figure, curve, kept));
    xs.push(...kept.map((i) => curve.x[i]));
    ys.push(...kept.flatMap((i) => [curve.y[i], curve.low[i] ?? curve.y[i],
                                    curve.high[i] ?? curve.y[i]]));
  }
  if (!traces.length) {
    place.textContent = "Nothing was measured for this figure.";
    return 0;
  }
  const positive = figure.y.log ? ys.filter((y) => y > 0) : ys;
  const layout = {
    ...layoutLook(), showlegend: true, margin: { l: 64, r: 12, t: 28, b: 48 },
    legend: { orientation: "h", x: 0, y: -0.18, xanchor: "left", yanchor: "top" },
    xaxis: axisOf(figure.x, xs), yaxis: axisOf(figure.y, positive),
  };
  Plotly.react(place, traces, { ...layout, ...sizeFor(place) }, config);
  return traces.length / 2;
}

function drawAll() {
  const curves = suite.figures.map(drawFigure);
  Object.assign(document.documentElement.dataset, {
    figures: curves.filter((count) => count > 0).length,
    curves: curves.reduce((sum, count) => sum + count, 0),
  });
}

window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.printing = "yes";
  drawAll();
});
window.addEventListener("afterprint", () => {
  delete document.documentElement.dataset.printing;
  drawAll();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
document.documentElement.dataset.ready = "yes";
