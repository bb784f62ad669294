// SPDX-License-Identifier: BSD-3-Clause
//
// Axes: seconds and bytes as a person reads them, the ticks for them, and the
// colours and fonts of a figure, taken from the style of the page.
"use strict";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const curveColour = (index) => style(`--curve-${(index % 8) + 1}`);
const symbols = [
  "circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star", "cross",
];

// Where there are more curves than colours, these tell those of one colour apart.
const dashes = ["solid", "dash", "dot", "dashdot"];

function curveLook(index) {
  const again = Math.floor(index / symbols.length);
  const colour = curveColour(index);
  return {
    line: { color: colour, width: 1.8, dash: dashes[again % dashes.length] },
    marker: { color: colour, size: 6, symbol: symbols[(index + 3 * again) % symbols.length] },
  };
}

// Of lists of any length: what Math.min(...) is given goes on the stack.
const least = (values) => values.reduce((one, other) => Math.min(one, other), Infinity);
const greatest = (values) => values.reduce((one, other) => Math.max(one, other), -Infinity);

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
  const rounded = Number(value.toPrecision(3));
  return `${rounded.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded)))))} ${unit}`;
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

// A size of zero has no place on a logarithmic axis: it stands two octaves left of the smallest.
function zeroPlace(curves) {
  const positive = curves.flatMap((curve) => curve.bytes).filter((bytes) => bytes > 0);
  return positive.length ? least(positive) / 4 : 1;
}

// Between two powers of two: up to six multiples of another, in a unit that names them exactly.
// Where an axis is less than a byte wide, that is one whole number of bytes or none.
function evenSizeTicks(low, high) {
  const step = Math.max(1, 2 ** Math.ceil(Math.log2((high - low) / 5)));
  const first = Math.max(1, Math.ceil(low / step));
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, n) => {
    const at = (first + n) * step;
    const [scale, unit] = sizeUnits.find(([s]) => at >= s && Number.isInteger((100 * at) / s))
      ?? sizeUnits[3];
    return [at, `${at / scale} ${unit}`];
  });
}

function sizeTicks(low, high, zeroAt) {
  const first = Math.ceil(Math.log2(low) - 1e-9);
  const last = Math.floor(Math.log2(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / 7));
  const places = [];
  for (let power = first; power <= last; power += step) places.push(2 ** power);
  const seen = places.filter((at) => at >= 1 && (zeroAt === null || at > zeroAt * 2));
  const ticks = seen.length > 1 ? seen.map((at) => [at, sizeText(at)])
    : evenSizeTicks(zeroAt === null ? low : Math.max(low, zeroAt * 2), high);
  return zeroAt === null ? ticks : [[zeroAt, "0"], ...ticks];
}

// The finest of a few usual divisions of a decade that gives at most `most` ticks.
function timeTicks(low, high, most) {
  const fine = [1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const divisions = [fine, [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
  for (const steps of divisions) {
    const ticks = decadeTicks(low, high, steps);
    if (ticks.length > 1 && ticks.length <= most) return ticks;
  }
  const ticks = decadeTicks(low, high, [1]);
  const stride = Math.ceil(ticks.length / most);
  return ticks.length > 1 ? ticks.filter((_, n) => n % stride === 0)
    : [[low, timeTick(low)], [high, timeTick(high)]];
}

function decadeTicks(low, high, steps) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) {
      const at = step * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) ticks.push([at, timeTick(at)]);
    }
  }
  return ticks;
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
    tickangle: 0, tickfont: { size: 12 }, title: { font: { size: 12 }, standoff: 8 },
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

// On paper nothing can adapt later, so a figure is given the size of its place at once.
function sizeFor(place) {
  if (!document.documentElement.dataset.printing) return { autosize: true };
  return { width: place.clientWidth, height: place.clientHeight };
}

const config = {
  responsive: true, displaylogo: false, doubleClick: "reset",
  modeBarButtons: [["toImage", "resetScale2d"]], toImageButtonOptions: { format: "svg" },
};
