// ---- charts

const plots = all(".plot");
const specs = new Map();
const drawn = new Set();
// Painters complete the specification of a chart in JavaScript; such charts are released when they are far from the viewport.
const painters = new Map();
let printing = false;

function spec(plot) {
  if (!specs.has(plot.id)) specs.set(plot.id, json(plot.dataset.spec));
  return specs.get(plot.id);
}

const themed = () => themes[dark.matches && !printing ? "dark" : "light"];

function draw(plot) {
  const theme = themed(), base = spec(plot);
  const layout = { ...base.layout, template: theme.template };
  const painter = painters.get(plot.dataset.painter);
  const first = !drawn.has(plot);
  if (printing) layout.width = Math.min(plot.clientWidth, 640);
  plot.style.height = `${layout.height}px`;
  if (painter) {
    // The data of a painter are loaded when the page is idle; until then the chart waits.
    const figure = painter.figure(plot, base, layout, theme);
    if (!figure) return painter.ready().then(() => draw(plot));
    drawn.add(plot);
    return Plotly.react(plot, figure.data, figure.layout, base.config).then(() => painter.done(plot, first));
  }
  drawn.add(plot);
  const data = structuredClone(base.data);
  if (layout.showlegend === undefined && data.length < 2) layout.showlegend = false;
  if (base.levels) data.forEach((trace, k) => { trace.line.color = theme.levels[k % theme.levels.length]; });
  return Plotly.react(plot, data, layout, base.config);
}

function failed(error) {
  byId("no-charts").hidden = false;
  plots.forEach((plot) => { plot.hidden = true; });
  console.error(error);
}

const near = new IntersectionObserver((entries) => {
  entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => {
    near.unobserve(target);
    // One chart per turn of the event loop, so that scrolling stays smooth.
    withPlotly().then(() => new Promise((next) => setTimeout(next))).then(() => draw(target)).catch(failed);
  });
}, { rootMargin: "400px" });

// Charts with many points use much memory: those far from the viewport are purged, and drawn again when they come near.
const far = new IntersectionObserver((entries) => {
  entries.filter((entry) => !entry.isIntersecting && drawn.has(entry.target) && !printing).forEach(({ target }) => {
    painters.get(target.dataset.painter).release(target);
    drawn.delete(target);
    Plotly.purge(target);
    near.observe(target);
  });
}, { rootMargin: "2000px" });

if (typeof DecompressionStream === "undefined") {
  byId("no-charts").hidden = false;
  plots.forEach((plot) => { plot.hidden = true; });
} else {
  addEventListener("load", () => {
    plots.forEach((plot) => {
      near.observe(plot);
      if (plot.dataset.painter) far.observe(plot);
    });
    // Loaded when idle, because printing cannot wait for it.
    (window.requestIdleCallback ?? setTimeout)(() => {
      withPlotly().then(() => Promise.all([...painters.values()].map((painter) => painter.ready()))).catch(failed);
    });
  });
  dark.addEventListener("change", () => [...drawn].forEach(draw));
  // Charts get their width on paper before the page is laid out for printing.
  const toPaper = (is) => { printing = is; document.documentElement.classList.toggle("printing", is); };
  addEventListener("beforeprint", () => { toPaper(true); if (window.Plotly) plots.forEach(draw); });
  addEventListener("afterprint", () => {
    toPaper(false);
    // plotly keeps the width for paper unless it is resized.
    if (window.Plotly) drawn.forEach((plot) => draw(plot).then(() => Plotly.Plots.resize(plot)));
  });
}
