// SPDX-License-Identifier: BSD-3-Clause
//
// Heat: the round-trip times of all pairs, host against host.
"use strict";

function drawHeat(place, figure) {
  const cells = figure.cells;
  const small = figure.names.length <= 12;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches
    && !document.documentElement.dataset.printing;
  const times = cells.z.flat().filter((value) => value !== null);
  // The scale spans at least a factor of 1.5, so that equal links look equal.
  const fastest = least(times);
  const ends = [fastest, Math.max(greatest(times), 1.5 * fastest)];
  const trace = {
    type: "heatmap", x: figure.names, y: figure.names, z: cells.z, text: cells.text,
    xgap: 1, ygap: 1, zmin: ends[0], zmax: ends[1],
    hovertemplate: "%{y} to %{x}<br><b>%{text}</b><extra></extra>", hoverongaps: false,
    texttemplate: small ? "%{text}" : "", textfont: { size: 11 },
    colorscale: dark ? [[0, "#1c2733"], [1, "#3f7cc4"]] : [[0, "#e8f0fa"], [1, "#1a5fb4"]],
    colorbar: { thickness: 10, outlinewidth: 0, len: 0.9, tickfont: { color: style("--soft") },
                ...axisTicks(plainTicks(...ends)) },
  };
  const axis = { ...axisLook(), type: "category", showgrid: false, showline: false, ticks: "" };
  Plotly.react(place, [trace], {
    ...layoutLook(), ...sizeFor(place), margin: { l: 8, r: 8, t: 8, b: 8 },
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
