// ---- the maps: points with a shared colouring, hover texts, and rows that are picked on all maps

if (byId("maps")) {
  const about = json("maps-about");
  const colours = document.querySelector("#colours select");
  const arrows = document.querySelector("#arrows input");
  const lasso = byId("lasso");
  const MAX_VALUES = 8, NEAR = 10;
  let points = null;
  // For every drawn map: the rows of each trace, and the zoomed axis ranges.
  const rowsOf = new Map(), views = new Map();
  let picked = null;

  const ready = async () => {
    if (points) return;
    const { maps, colors, quality } = await result();
    points = {
      rows: maps.find((map) => map.points)?.rows ?? [],
      places: maps.map(({ points, rows }) => points && {
        x: points.map(([x]) => x),
        // A single coordinate is drawn against the row number, because points on a line would overlap.
        y: points.map(([, y], i) => y ?? rows[i] + 1),
      }),
      colors, stress: quality?.stress_per_point ?? [],
      sentences: [],
    };
  };

  const map = (plot) => about.maps.findIndex(({ key }) => key === plot.closest(".map").id);
  const chosenColour = () => (colours ? about.colors[Number(colours.value)] : null);
  const valuesOf = (color, k) => (color.column === null ? points.stress[k] ?? points.rows.map(() => null) : points.colors[color.column].values);
  const isNumber = ({ kind }) => kind !== "categorical";
  const word = (color, value) => (value === null ? color.missing_label : color.kind === "date" ? day(value) : isNumber(color) ? formatNumber(value) : color.levels[value]);

  // The hover text of a row: its number and values, that of the colouring first.
  function text(row, color, k) {
    const line = (color, value) => `${color.title}: ${word(color, value)}`;
    const first = color === null ? [] : [line(color, valuesOf(color, k)[row])];
    points.sentences[row] ??= about.colors.filter((color) => color.column !== null)
      .map((color) => line(color, points.colors[color.column].values[row]));
    const others = points.sentences[row].filter((other) => other !== first[0]).slice(0, MAX_VALUES);
    return [`Row ${(points.rows[row] + 1).toLocaleString("en")}`, ...first.map((line) => `<b>${line}</b>`), ...others].join("<br>");
  }

  // Too many points are slow as SVG elements, and WebGL needs eval, which this page's content policy forbids. Such maps are drawn on a
  // canvas, and the page finds the point under the pointer.
  const isPicture = () => points.rows.length > about.most_shapes;

  // The points in groups of one colour and shape each, or in shades of one colour.
  function groupsOf(color, k, theme) {
    const everything = points.rows.map((_, i) => i);
    if (color === null) return [{ name: "rows", rows: everything, values: everything, marker: {} }];
    const values = valuesOf(color, k);
    const withoutValue = everything.filter((i) => values[i] === null), present = everything.filter((i) => values[i] !== null);
    const counted = (name, rows) => `${name} (${plain.format(rows.length)})`;
    const missing = withoutValue.length
      ? [{ name: counted(color.missing_label, withoutValue), rows: withoutValue, marker: { color: theme.missing, symbol: "circle-open" } }] : [];
    if (isNumber(color)) {
      const shown = present.map((i) => values[i]);
      const marker = {
        color: shown, showscale: true, colorbar: { title: { text: color.title }, ...(color.kind === "date" && days(span(shown))) },
        // One scale for all maps where the values are of each.
        ...(color.range && { cmin: color.range[0], cmax: color.range[1] }),
      };
      // The name stands at the colour bar; the legend is for the points that have no colour.
      return [...missing, { name: color.title, rows: present, marker, isShades: true }];
    }
    const groups = color.groups.map(() => []);
    present.forEach((i) => groups[color.group[values[i]]].push(i));
    const shown = groups.map((rows, g) => ({
      name: counted(color.groups[g], rows), rows, marker: { color: theme.levels[g], symbol: isPicture() ? "circle" : themes.shapes[g] },
    }));
    return [...missing, ...shown.filter(({ rows }) => rows.length)];
  }

  function traces(plot, groups, base, color) {
    const k = map(plot), { x, y } = points.places[k];
    const at = (from, rows) => rows.map((i) => from[i]);
    return groups.map(({ name, rows, marker, isShades }) => ({
      type: "scatter", mode: "markers", name, x: at(x, rows), y: at(y, rows),
      text: rows.map((row) => text(row, color, k)), hovertemplate: "%{text}<extra></extra>",
      marker: { ...base.marker, ...marker },
      selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.08 } },
      ...(isShades && { showlegend: false }), ...(picked && { selectedpoints: placesIn(rows) }),
    }));
  }

  const placesIn = (rows) => rows.flatMap((row, at) => (picked.has(row) ? [at] : []));

  // Ticks of a colour bar of dates: its ends and its middle.
  const days = ([low, high]) => ({ tickmode: "array", tickvals: [low, (low + high) / 2, high], ticktext: [low, (low + high) / 2, high].map(day) });
  const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const wider = ([low, high]) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];

  // The points within the axis ranges as an image with two pixels per screen pixel.
  function picture(plot, groups, [left, right], [low, high], [width, height], { marker: { size, opacity } }, { scale }) {
    const { x, y } = points.places[map(plot)];
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
    const pen = canvas.getContext("2d");
    for (const { rows, marker } of groups) {
      const isShades = Array.isArray(marker.color), [least, most] = isShades ? endsOf(marker) : [0, 1];
      rows.forEach((row, i) => {
        pen.globalAlpha = picked && !picked.has(row) ? 0.08 : opacity;
        pen.fillStyle = isShades ? shade(scale, (marker.color[i] - least) / (most - least || 1)) : marker.color;
        pen.beginPath();
        pen.arc(2 * width * (x[row] - left) / (right - left), 2 * height * (high - y[row]) / (high - low), size, 0, 7);
        pen.fill();
      });
    }
    return { source: canvas.toDataURL(), xref: "x", yref: "y", x: left, y: high, sizex: right - left, sizey: high - low, sizing: "stretch", layer: "above" };
  }

  const endsOf = (marker) => (marker.cmax === undefined ? span(marker.color) : [marker.cmin, marker.cmax]);

  function pictured(plot, groups, layout, base, theme) {
    // A map that is drawn again starts unzoomed and is then zoomed, so that its axes can be reset.
    const { x, y } = points.places[map(plot)], view = drawn.has(plot) ? views.get(plot) : null;
    const [across, up] = view ? [view.x, view.y] : [wider(span(x)), wider(span(y))];
    const room = [Math.max(plot.clientWidth - 70, 100), layout.height - 110];
    const unit = Math.min(room[0] / (across[1] - across[0]), room[1] / (up[1] - up[0]));
    const size = layout.yaxis.scaleanchor ? [unit * (across[1] - across[0]), unit * (up[1] - up[0])] : room;
    const images = [picture(plot, groups, across, up, size.map(Math.ceil), base, theme)];
    layout.xaxis.range = across;
    layout.yaxis.range = up;
    // Empty traces provide the legend entries and the colour bar.
    const entries = groups.map(({ name, marker, isShades }) => {
      const [cmin, cmax] = isShades ? endsOf(marker) : [];
      return {
        type: "scatter", mode: "markers", name, x: [null], y: [null], hoverinfo: "skip", ...(isShades && { showlegend: false }),
        marker: { ...base.marker, ...marker, size: 8, ...(isShades && { color: [cmin], cmin, cmax }) },
      };
    });
    // Legend entries have no shapes to toggle.
    return { data: entries, layout: { ...layout, images, legend: { ...layout.legend, itemclick: false, itemdoubleclick: false } } };
  }

  function shade(scale, share) {
    const at = Math.max(0, Math.min(1, share)) * (scale.length - 1), k = Math.min(Math.floor(at), scale.length - 2);
    const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
    const [from, to] = [parts(scale[k]), parts(scale[k + 1])];
    return `rgb(${from.map((value, i) => Math.round(value + (at - k) * (to[i] - value))).join()})`;
  }

  // ---- columns as arrows over the points

  function arrowed(tips, theme) {
    const each = (tip) => tips.flatMap(tip);
    return {
      type: "scatter", mode: "lines+markers", hoverinfo: "skip", showlegend: false, cliponaxis: false,
      x: each(({ x }) => [0, x, null]), y: each(({ y }) => [0, y, null]),
      line: { color: theme.arrow, width: 1.5 },
      marker: { color: theme.arrow, symbol: "arrow", angleref: "previous", opacity: 1, size: each(() => [0, 11, 0]) },
      selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 1 } },
    };
  }

  // Each name is placed beyond the tip of its arrow, moved up or down to a free position within the panel, away from the
  // numbers of the clusters.
  function named(tips, clusters, { xaxis, yaxis }) {
    const within = (value, half, size) => Math.max(half, Math.min(size - half, value));
    const taken = clusters.map(([x, y]) => ({ x: xaxis.d2p(x), y: yaxis.d2p(y), halfX: 9 }));
    const steps = [0, ...tips.flatMap((_, k) => [2 * k + 1, -2 * k - 1, 2 * k + 2, -2 * k - 2])];
    return tips.map(({ x, y, name, text, length }) => {
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
      return { x, y, text: name, hovertext: text, showarrow: false, xshift: centreX - tipX, yshift: tipY - place };
    });
  }

  // The numbers of the clusters, at the medians of their points.
  const numbered = ({ clusters }, theme) => (clusters.length ? [{
    type: "scatter", mode: "text", hoverinfo: "skip", showlegend: false,
    x: clusters.map(([x]) => x), y: clusters.map(([, y]) => y), text: clusters.map((_, k) => `<b>${k + 1}</b>`),
    textfont: { size: 18, color: theme.arrow, shadow: "auto" },
  }] : []);

  const tipsOf = (base) => (arrows?.checked && base.arrows.length ? base.arrows : null);

  // ---- a map

  function figure(plot, base, layout, theme) {
    if (!points) return null;
    const color = chosenColour(), groups = groupsOf(color, map(plot), theme), narrow = plot.clientWidth < 640;
    layout.showlegend = color !== null && groups.some(({ isShades }) => !isShades);
    layout.legend = { ...layout.legend, title: { text: color === null || isNumber(color) ? "" : color.title } };
    if (narrow) {
      layout.legend = { ...layout.legend, orientation: "h", x: 0, y: -0.12, yanchor: "top", title: { ...layout.legend.title, side: "top" } };
      groups.filter(({ isShades }) => isShades).forEach(({ marker }) => Object.assign(marker.colorbar, {
        orientation: "h", x: 0.5, y: -0.12, yanchor: "top", title: { ...marker.colorbar.title, side: "top" },
      }));
      if (color && isNumber(color)) layout.legend.y = 1.02, layout.legend.yanchor = "bottom";
    }
    // plotly writes into the layout; copies keep the specification unchanged.
    Object.assign(layout, { xaxis: { ...layout.xaxis }, yaxis: { ...layout.yaxis }, dragmode: lasso.ariaPressed === "true" ? "lasso" : false });
    // Keeps the zoom when the colouring changes.
    layout.uirevision = "kept";
    const tips = tipsOf(base), over = [...(tips ? [arrowed(tips, theme)] : []), ...numbered(base, theme)];
    if (isPicture()) {
      const figure = pictured(plot, groups, layout, base, theme);
      return { ...figure, data: [...figure.data, ...over] };
    }
    rowsOf.set(plot, groups.map(({ rows }) => rows));
    return { data: [...traces(plot, groups, base, color), ...over], layout };
  }

  function done(plot, isFirst) {
    if (isFirst) {
      plot.on("plotly_selected", (event) => { if (event) pick(isPicture() ? rowsWithin(plot, event) : rowsAt(plot, event.points), plot); });
      plot.on("plotly_deselect", () => pick([], plot));
      plot.on("plotly_relayout", (change) => {
        if (!Object.keys(change).some((name) => /axis\.(range|autorange)/.test(name))) return;
        if (change["xaxis.autorange"]) views.delete(plot);
        else views.set(plot, viewOf(plot));
        if (isPicture()) draw(plot);
      });
      const view = views.get(plot);
      if (view) return Plotly.relayout(plot, { "xaxis.range": view.x, "yaxis.range": view.y }).then(() => done(plot, false));
    }
    const tips = tipsOf(spec(plot));
    // The names are placed after the axes are known.
    return tips ? Plotly.relayout(plot, { annotations: named(tips, spec(plot).clusters, plot._fullLayout) }) : null;
  }

  const viewOf = ({ _fullLayout: { xaxis, yaxis } }) => ({ x: [...xaxis.range], y: [...yaxis.range] });

  const release = (plot) => rowsOf.delete(plot);

  painters.set("points", { ready, figure, done, release });

  // ---- rows that are picked, by a lasso on any map or by their numbers

  const box = byId("picked");
  const numbers = document.querySelector("#pick input");

  // The rows within a lasso around a picture.
  function rowsWithin(plot, { lassoPoints }) {
    const { x, y } = points.places[map(plot)];
    if (!lassoPoints) return [];
    const { x: across, y: up } = lassoPoints, n = across.length;
    const isWithin = (row) => {
      let within = false;
      for (let i = 0, before = n - 1; i < n; before = i++) {
        if (up[i] > y[row] !== up[before] > y[row]
          && x[row] < (across[before] - across[i]) * (y[row] - up[i]) / (up[before] - up[i]) + across[i]) within = !within;
      }
      return within;
    };
    return points.rows.map((_, row) => row).filter(isWithin);
  }

  // The hover text of the row under the pointer, for maps drawn on a canvas.
  function point(plot, event) {
    const label = byId("pointed"), { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left - xaxis._offset, event.clientY - box.top - yaxis._offset];
    const { x, y } = points.places[map(plot)];
    const away = (row) => Math.hypot(xaxis.d2p(x[row]) - left, yaxis.d2p(y[row]) - top);
    let nearest = null, least = NEAR;
    points.rows.forEach((_, row) => { const distance = away(row); if (distance < least) nearest = row, least = distance; });
    label.hidden = nearest === null;
    if (nearest === null) return;
    // Undo the escaping for plotly: this is plain text.
    const words = text(nearest, chosenColour(), map(plot)).replaceAll("<br>", "\n").replace(/<\/?b>/g, "");
    label.textContent = new DOMParser().parseFromString(words, "text/html").documentElement.textContent;
    label.style.left = `${Math.min(event.pageX + 14, document.documentElement.clientWidth - label.offsetWidth - 8)}px`;
    label.style.top = `${event.pageY + 14}px`;
  }

  const rowsAt = (plot, points) => points.filter(({ curveNumber }) => curveNumber < rowsOf.get(plot).length)
    .map(({ curveNumber, pointIndex }) => rowsOf.get(plot)[curveNumber][pointIndex]);

  function pick(rows, plot = null) {
    picked = rows.length ? new Set(rows) : null;
    if (plot) numbers.value = "", byId("pick-status").textContent = "";
    for (const other of [...drawn].filter((plot) => plot.dataset.painter === "points")) {
      if (isPicture()) draw(other);
      const each = rowsOf.get(other) ?? [];
      if (each.length) Plotly.restyle(other, { selectedpoints: each.map((rows) => (picked ? placesIn(rows) : null)) }, each.map((_, k) => k));
      // Only the map with the lasso keeps its outline.
      if (other !== plot && other.layout.selections?.length) Plotly.relayout(other, { selections: [] });
    }
    showPicked();
  }

  function showPicked() {
    box.hidden = picked === null;
    if (picked === null) return;
    const n = points.rows.length;
    box.querySelector(".status").textContent = `${plain.format(picked.size)} of ${n.toLocaleString("en")} rows are picked, on every map.`;
    const body = box.querySelector("tbody"), rows = [...picked];
    body.replaceChildren(...about.colors.filter((color) => color.column !== null).map((color) => {
      const { values } = points.colors[color.column];
      const line = document.createElement("tr"), name = document.createElement("th");
      name.scope = "row", name.className = "name", name.textContent = color.option;
      const cells = [rows.map((i) => values[i]), values].map((some) => {
        const cell = document.createElement("td");
        cell.textContent = usual(color, some.filter((value) => value !== null));
        return cell;
      });
      line.append(name, ...cells);
      return line;
    }));
  }

  // The mean of numbers, or the most frequent level and its share.
  function usual(color, values) {
    if (!values.length) return "–";
    if (isNumber(color)) return (color.kind === "date" ? day : formatNumber)(values.reduce((sum, value) => sum + value, 0) / values.length);
    const counts = new Map();
    values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
    const [level, n] = [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best));
    return `${color.plain[level]} (${Math.round(100 * n / values.length)}%)`;
  }

  // Picks rows by their numbers in the table, such as "3, 10-20", and reports numbers that are not shown.
  function ask(text) {
    const ranges = text.split(",").map((part) => part.split(/[-–]/).map((number) => Number.parseInt(number, 10)));
    const within = (row) => ranges.some(([first, last = first]) => first <= row + 1 && row + 1 <= last);
    const found = points.rows.flatMap((row, at) => (within(row) ? [at] : []));
    const n = ranges.reduce((sum, [first, last = first]) => sum + Math.max(last - first + 1, 0), 0);
    byId("pick-status").textContent = !text.trim() ? "" : !found.length ? "No shown row has such a number."
      : found.length < n ? "Not all of these rows are shown." : "";
    pick(found);
  }

  if (about.maps.some(({ drawn }) => drawn)) {
    const redraw = (chosen, work = draw) => [...drawn].filter((plot) => plot.dataset.painter === "points" && chosen(plot))
      .forEach((plot) => setTimeout(() => work(plot)));
    byId("choices").hidden = false;
    all(".plot[data-painter=points]").forEach((plot) => {
      plot.addEventListener("pointermove", (event) => { if (points && isPicture() && drawn.has(plot)) point(plot, event); });
      plot.addEventListener("pointerleave", () => { byId("pointed").hidden = true; });
    });
    lasso.addEventListener("click", () => {
      const dragmode = lasso.ariaPressed === "true" ? false : "lasso";
      lasso.ariaPressed = String(dragmode !== false);
      redraw(() => true, (plot) => Plotly.relayout(plot, { dragmode }));
    });
    colours?.addEventListener("change", () => redraw(() => true));
    arrows?.addEventListener("change", () => redraw((plot) => spec(plot).arrows.length));
    numbers.addEventListener("change", () => ready().then(() => ask(numbers.value)));
    byId("picked-clear").addEventListener("click", () => { numbers.value = ""; pick([]); });
    byId("picked-save").addEventListener("click", () => result().then((numbers) => save("picked-rows.csv", "text/csv", [csv(coordinates(numbers, [...picked].sort((a, b) => a - b)))])));
  }
}

// The coordinates of the rows on every map, and the values of the colourings: one line per row.
function coordinates({ maps, colors }, some = null) {
  const shown = maps.filter((map) => map.points), rows = shown[0].rows;
  const head = ["row", ...shown.flatMap((map) => map.axes.map((axis) => `${map.label}: ${axis}`)), ...colors.map((color) => color.name)];
  const value = ({ kind, values, levels }, i) => (values[i] === null ? null : kind === "date" ? moment(values[i]) : kind === "numeric" ? values[i] : levels[values[i]]);
  return [head, ...(some ?? rows.map((_, i) => i)).map((i) => [rows[i] + 1, ...shown.flatMap((map) => map.points[i]), ...colors.map((color) => value(color, i))])];
}

// ---- images

// A byte is a grey level.
all("canvas[data-pixels]").forEach((canvas) => {
  const bytes = Uint8Array.from(atob(canvas.dataset.pixels), (c) => c.charCodeAt(0));
  const image = new ImageData(canvas.width, canvas.height);
  bytes.forEach((grey, i) => image.data.set([grey, grey, grey, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
});
