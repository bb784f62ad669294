// SPDX-License-Identifier: BSD-3-Clause
//
// Page: draws every figure from the JSON that the page carries, redraws them when
// the colours change, and writes into the root element what it drew
// (data-figures, data-curves, data-cells, data-bars), so that a test can ask the page.
"use strict";

const report = JSON.parse(document.getElementById("report-data").textContent);
const shown = { figures: 0, curves: 0, cells: 0, bars: 0 };

function draw(figure) {
  const place = document.getElementById(`${figure.id}-plot`);
  if (figure.kind === "lateness") {
    drawLateness(place, figure);
    return;
  }
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
