"use strict";
/* Draws the charts of the overview with uPlot, in the colours of the page. The table below each has the same numbers. */
(() => {
  const colours = ["--accent", "--bad", "--good", "--warn"];
  const dashes = [[], [6, 4], [2, 3]]; // a fifth line has the first colour again, and is dashed
  const read = (day, field) => field.split(".").reduce((value, name) => value[name] ?? (name === field ? null : 0), day);
  const wholes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7];
  const charts = new Map();

  function draw(element) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const { days } = JSON.parse(element.dataset.days);
    const lines = JSON.parse(element.dataset.lines);
    const scale = Number(element.dataset.scale);
    const values = lines.map(([field]) => days.map((day) => {
      const value = read(day, field);
      return value === null ? null : value / scale;
    }));
    const data = [days.map((day) => Date.parse(day.day) / 1000), ...values];
    const axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const date = new Intl.DateTimeFormat(document.documentElement.lang, { month: "short", day: "numeric", timeZone: "UTC" });
    /* Without a pointer the legend shows the last day. */
    const showLast = (chart) => { if (chart.legend.idx == null) chart.setLegend({ idx: days.length - 1 }, false); };
    charts.get(element)?.destroy();
    charts.set(element, new uPlot({
      width: element.clientWidth, height: 200, padding: [8, 8, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: { y: { range: (_, low, high) => [0, Math.max(high || 0, 1)] } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => date.format(tick * 1000)), space: 70 }, { ...axis, size: 44, incrs: element.dataset.chart === "lag" ? undefined : wholes }],
      series: [{ label: element.dataset.day, value: (_, seconds) => (seconds === null ? "–" : date.format(seconds * 1000)) }, ...lines.map(([, label], number) => ({
        label, stroke: colour(colours[number % colours.length]), dash: dashes[Math.floor(number / colours.length) % dashes.length], width: 2, points: { show: true, size: 5 }, spanGaps: true,
        value: (_, value) => (value === null ? "–" : String(Math.round(value * 10) / 10)),
      }))],
      cursor: { y: false },
      hooks: { ready: [showLast], setLegend: [showLast] },
    }, data, element));
  }

  function drawAll() {
    for (const [element, chart] of charts) {
      if (element.isConnected) continue;
      chart.destroy();
      charts.delete(element);
    }
    for (const element of document.querySelectorAll("[data-chart]")) draw(element);
  }

  /* The charts are read again some seconds after a change: one that an event tells, or one that the counts of the page
     show, because events can be missed. Tables that were open stay open. */
  let waiting = null, open = [], figures = null;
  function readAgain() {
    waiting ??= setTimeout(() => {
      waiting = null;
      document.body.dispatchEvent(new CustomEvent("clearwell:charts"));
    }, 3000);
  }
  function compareFigures() {
    const shown = document.querySelector("[data-figures]")?.dataset.figures;
    if (figures !== null && shown !== figures) readAgain();
    figures = shown;
  }
  document.addEventListener("DOMContentLoaded", () => {
    compareFigures();
    document.body.addEventListener("clearwell:changed", readAgain);
  });
  document.addEventListener("htmx:afterSettle", compareFigures);
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target.id === "charts") open = [...event.target.querySelectorAll("details[open]")].map((one) => one.dataset.table);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!event.target.querySelector?.("[data-chart]")) return;
    for (const name of open) event.target.querySelector(`[data-table="${name}"]`)?.setAttribute("open", "");
    drawAll();
  });
  addEventListener("resize", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
