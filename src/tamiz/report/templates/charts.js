// ---- charts

const plots = all(".plot");
// One choice for all maps: a row has the same colour on each.
const colours = document.querySelector("#colours select");
const arrows = document.querySelector("#arrows input");
const specs = new Map();
const drawn = new Set();
let printing = false;

function spec(plot) {
  if (!specs.has(plot.id)) specs.set(plot.id, json(plot.dataset.spec));
  return specs.get(plot.id);
}

function coloured(base, color, theme, map) {
  const { x, y } = base.data[0];
  const values = color.by_map ? color.by_map[map] : color.values;
  const rows = json("rows");
  const pick = (values, indices) => indices.map((i) => values[i]);
  const trace = (indices, name, marker, text) => ({
    type: "scatter", mode: "markers", name, x: pick(x, indices), y: pick(y, indices),
    text: indices.map((i) => `Row ${(rows[i] + 1).toLocaleString("en")}<br>${color.title}: ${text(i)}`),
    hovertemplate: "%{text}<extra></extra>", marker: { ...base.data[0].marker, ...marker },
  });
  const present = [], gaps = [];
  values.forEach((value, i) => (value === null ? gaps : present).push(i));
  const missing = gaps.length
    ? [trace(gaps, `missing (${plain.format(gaps.length)})`, { color: theme.missing, symbol: "circle-open" }, () => "missing")] : [];
  if (color.kind === "numeric") {
    const shades = trace(present, color.title, {
      color: pick(values, present), showscale: true, colorbar: { title: { text: color.title } },
      // One scale for all maps where the values are of each.
      ...(color.range && { cmin: color.range[0], cmax: color.range[1] }),
    }, (i) => told(values[i]));
    // The name stands at the colour bar; the legend is for the points that have no colour.
    return [...missing, { ...shades, showlegend: false }];
  }
  const groups = color.groups.map(() => []);
  present.forEach((i) => groups[color.group[values[i]]].push(i));
  return [...missing, ...groups.map((indices, g) => trace(indices, `${color.groups[g]} (${plain.format(indices.length)})`, {
    color: theme.levels[g], symbol: themes.shapes[g],
  }, (i) => color.levels[values[i]]))];
}

// ---- columns as arrows over the points

function arrowed(tips, theme) {
  const each = (tip) => tips.flatMap(tip);
  return {
    type: "scatter", mode: "lines+markers", hoverinfo: "skip", showlegend: false, cliponaxis: false,
    x: each(({ x }) => [0, x, null]), y: each(({ y }) => [0, y, null]),
    line: { color: theme.arrow, width: 1.5 },
    marker: { color: theme.arrow, symbol: "arrow", angleref: "previous", opacity: 1, size: each(() => [0, 11, 0]) },
  };
}

// Each name stands beyond the tip of its arrow, moved up or down to where no other one is, within the panel.
function named(tips, { xaxis, yaxis }) {
  const within = (value, half, size) => Math.max(half, Math.min(size - half, value));
  const taken = [], steps = [0, ...tips.flatMap((_, k) => [2 * k + 1, -2 * k - 1, 2 * k + 2, -2 * k - 2])];
  return tips.map(({ x, y, name, told, length }) => {
    const [tipX, tipY] = [xaxis.d2p(x), yaxis.d2p(y)];
    const [alongX, alongY] = [tipX - xaxis.d2p(0), tipY - yaxis.d2p(0)];
    const size = Math.hypot(alongX, alongY) || 1;
    const [halfX, halfY] = [3.5 * length + 4, 9];
    const centreX = within(tipX + (halfX + 4) * alongX / size, halfX, xaxis._length);
    const centreY = tipY + (halfY + 4) * alongY / size;
    const at = (step) => within(centreY + step * halfY, halfY, yaxis._length);
    const free = (place) => taken.every((box) => Math.abs(box.x - centreX) >= box.halfX + halfX || Math.abs(box.y - place) >= 2 * halfY);
    const place = steps.map(at).find(free) ?? at(0);
    taken.push({ x: centreX, y: place, halfX });
    return { x, y, text: name, hovertext: told, showarrow: false, xshift: centreX - tipX, yshift: tipY - place };
  });
}

function draw(plot) {
  const theme = themes[dark.matches && !printing ? "dark" : "light"];
  const base = spec(plot);
  const layout = { ...base.layout, template: theme.template };
  let data = structuredClone(base.data);
  const narrow = plot.clientWidth < 640;
  if ("coloured" in plot.dataset) {
    const color = json(colours.value);
    data = coloured(base, color, theme, plot.closest(".map").id);
    layout.showlegend = data.some((trace) => trace.showlegend !== false);
    layout.legend = { ...layout.legend, title: { text: color.kind === "numeric" ? "" : color.title } };
    if (narrow) {
      layout.legend = { ...layout.legend, orientation: "h", x: 0, y: -0.12, yanchor: "top", title: { ...layout.legend.title, side: "top" } };
      data.filter((trace) => trace.marker.colorbar).forEach((trace) => Object.assign(trace.marker.colorbar, {
        orientation: "h", x: 0.5, y: -0.12, yanchor: "top", title: { ...trace.marker.colorbar.title, side: "top" },
      }));
      if (color.kind === "numeric") layout.legend.y = 1.02, layout.legend.yanchor = "bottom";
    }
  } else if (layout.showlegend === undefined && data.length < 2) {
    layout.showlegend = false;
  }
  if (base.levels) data.forEach((trace, k) => { trace.line.color = theme.levels[k % theme.levels.length]; });
  const tips = arrows?.checked && base.arrows?.length ? base.arrows : null;
  if (tips) data.push(arrowed(tips, theme));
  if (printing) layout.width = Math.min(plot.clientWidth, 640);
  drawn.add(plot);
  plot.style.height = `${layout.height}px`;
  const done = Plotly.react(plot, data, layout, base.config);
  // Where the names have room is known when the axes are.
  return tips ? done.then(() => Plotly.relayout(plot, { annotations: named(tips, plot._fullLayout) })) : done;
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

if (typeof DecompressionStream === "undefined") {
  byId("no-charts").hidden = false;
  plots.forEach((plot) => { plot.hidden = true; });
} else {
  addEventListener("load", () => {
    plots.forEach((plot) => near.observe(plot));
    const redraw = (chosen) => [...drawn].filter(chosen).forEach((plot) => setTimeout(() => draw(plot)));
    if (byId("choices")) byId("choices").hidden = false;
    colours?.addEventListener("change", () => redraw((plot) => "coloured" in plot.dataset));
    arrows?.addEventListener("change", () => redraw((plot) => spec(plot).arrows?.length));
    // Loaded while the reader reads, so that printing, which cannot wait, finds it there.
    (window.requestIdleCallback ?? setTimeout)(() => withPlotly().catch(failed));
  });
  dark.addEventListener("change", () => [...drawn].forEach(draw));
  addEventListener("beforeprint", () => { printing = true; if (window.Plotly) plots.forEach(draw); });
  addEventListener("afterprint", () => {
    printing = false;
    // plotly keeps the width it last had unless it is asked to look again.
    if (window.Plotly) drawn.forEach((plot) => draw(plot).then(() => Plotly.Plots.resize(plot)));
  });
}
