"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const json = (id) => JSON.parse(byId(id).textContent);
  const themes = json("themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
  const told = (value) =>
    value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9) ? value.toExponential(3) : plain.format(value);

  // ---- what is packed into the page

  async function unpacked(id, type) {
    const text = atob(byId(id).textContent);
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Blob([await new Response(stream).arrayBuffer()], { type });
  }

  let library = null;
  function withPlotly() {
    library ??= unpacked("plotly", "text/javascript").then((blob) => new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = URL.createObjectURL(blob);
      script.onload = () => { URL.revokeObjectURL(script.src); resolve(); };
      script.onerror = reject;
      document.head.append(script);
    }));
    return library;
  }

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

  // ---- tables

  function key(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim() || null;
    return value === "" ? null : Number(value);
  }

  function sort(table, header) {
    const column = header.cellIndex;
    const first = header.classList.contains("num") ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    // What has no value stays last, whichever way the rest is sorted.
    rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    all("thead th[aria-sort]", table).forEach((th) => th.setAttribute("aria-sort", th === header ? order : "none"));
    if ("ranked" in table.dataset) rows.forEach(([value, row], i) => { row.cells[0].textContent = value === null ? "" : i + 1; });
    body.append(...rows.map(([, row]) => row));
    table.dispatchEvent(new Event("refold"));
  }

  function foldable(table) {
    const limit = Number(table.dataset.fold);
    const tools = document.querySelector(`.tools[data-table="${table.id}"]`);
    const more = document.querySelector(`.more[data-table="${table.id}"]`);
    const search = tools?.querySelector("input");
    const button = more?.querySelector("button");
    const closed = button?.textContent;
    let open = false;
    const show = () => {
      const wanted = (search?.value ?? "").trim().toLowerCase();
      let found = 0;
      for (const row of table.tBodies[0].rows) {
        const name = row.querySelector("th");
        const hit = !wanted || name.title.toLowerCase().includes(wanted) || name.textContent.toLowerCase().includes(wanted);
        row.hidden = !hit || (!open && found >= limit);
        if (hit) found += 1;
      }
      if (tools) {
        const shown = open ? found : Math.min(found, limit);
        tools.querySelector(".status").textContent = wanted || shown < found
          ? `${shown.toLocaleString("en")} of ${(wanted ? found : table.tBodies[0].rows.length).toLocaleString("en")} ${wanted ? "found" : ""} shown`.replace("  ", " ") : "";
      }
      if (more) more.hidden = found <= limit;
    };
    button?.addEventListener("click", () => {
      open = !open;
      button.setAttribute("aria-expanded", open);
      button.textContent = open ? `Show the first ${limit} only` : closed;
      show();
      if (!open) table.scrollIntoView({ block: "start" });
    });
    search?.addEventListener("input", show);
    table.addEventListener("refold", show);
    if (tools) tools.hidden = false;
    show();
  }

  all("table[data-fold]").forEach(foldable);
  all("th[aria-sort] button").forEach((button) => {
    button.addEventListener("click", () => sort(button.closest("table"), button.closest("th")));
  });

  // ---- the bar of sections, and the numbers to take away

  const links = new Map(all(".bar a").map((a) => [a.hash.slice(1), a]));
  const marks = [...links.keys()].map(byId);
  let waiting = false;
  const mark = () => {
    waiting = false;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const now = atEnd ? marks.at(-1) : marks.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3);
    links.forEach((a, id) => (id === now?.id ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current")));
  };
  addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
  mark();

  if (typeof DecompressionStream !== "undefined") {
    const save = byId("save");
    save.hidden = false;
    save.addEventListener("click", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await unpacked("numbers", "application/json"));
      link.download = "tamiz-result.json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // ---- images

  // A byte is a step of grey.
  all("canvas[data-pixels]").forEach((canvas) => {
    const bytes = Uint8Array.from(atob(canvas.dataset.pixels), (c) => c.charCodeAt(0));
    const image = new ImageData(canvas.width, canvas.height);
    bytes.forEach((grey, i) => image.data.set([grey, grey, grey, 255], 4 * i));
    canvas.getContext("2d").putImageData(image, 0, 0);
  });
})();
