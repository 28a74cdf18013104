// ---- charts

const plots = all(".plot");
const specs = new Map();
const drawn = new Set();
// How a section draws what is more than its specification: a chart names its painter, and is released when it is far away.
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
    // What it draws is there from when the page is idle; before that a chart is drawn when it has come.
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
    // One chart a turn of the event loop, so that scrolling never waits for two.
    withPlotly().then(() => new Promise((next) => setTimeout(next))).then(() => draw(target)).catch(failed);
  });
}, { rootMargin: "400px" });

// Browsers keep few WebGL contexts, and many points fill memory: what is screens away is given back, and drawn again on return.
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
    // Loaded while the reader reads, so that printing, which cannot wait, finds it there.
    (window.requestIdleCallback ?? setTimeout)(() => {
      withPlotly().then(() => Promise.all([...painters.values()].map((painter) => painter.ready()))).catch(failed);
    });
  });
  dark.addEventListener("change", () => [...drawn].forEach(draw));
  // Charts take the width that they will have on paper before the page is laid out there.
  const toPaper = (is) => { printing = is; document.documentElement.classList.toggle("printing", is); };
  addEventListener("beforeprint", () => { toPaper(true); if (window.Plotly) plots.forEach(draw); });
  addEventListener("afterprint", () => {
    toPaper(false);
    // plotly keeps the width it last had unless it is asked to look again.
    if (window.Plotly) drawn.forEach((plot) => draw(plot).then(() => Plotly.Plots.resize(plot)));
  });
}
