// ---- the maps: points on a canvas with a shared colouring, rows that are pointed at, and rows that are picked on all maps

if (byId("maps") && typeof DecompressionStream !== "undefined") {
  const about = json("maps-about");
  const plots = all("#maps .plot");
  const colours = document.querySelector("#colours select");
  const arrows = document.querySelector("#arrows input");
  const lasso = byId("lasso"), legend = byId("legend");
  // Values in a hover text; pixels from a point to the pointer; steps of a gradient; points with shapes; bars of a colour bar.
  const MAX_VALUES = 8, NEAR = 12, N_SHADES = 32, MOST_SHAPES = 4000, N_BARS = 12, MARGIN = 22;
  let points = null, picked = null, theme = null, waiting = null;
  // For every map: the zoom, the centre of the view and the row under the cursor.
  const views = new Map();
  // The parts of colourings that are pressed, and the buttons of all parts.
  const filters = new Map(), pressed = new Map();

  const ready = () => (waiting ??= result().then(({ maps, colors, quality }) => {
    points = {
      rows: maps.find((_, k) => about.maps[k])?.rows ?? [],
      places: maps.map((map, k) => {
        if (!about.maps[k]) return null;
        // A single coordinate is drawn against the row number, because points on a line would overlap.
        const [x, y = map.rows.map((row) => row + 1)] = map.places ?? map.axes.slice(0, 2).map((_, axis) => map.points.map((point) => point[axis]));
        return { x, y, ends: [span(x), span(y)] };
      }),
      colors, near: quality?.nearest ?? [],
      ...Object.fromEntries(["trust", "stress"].map((name) => [name, (quality?.maps ?? []).map((one) => one?.[name])])),
    };
    window.dispatchEvent(new Event("maps-ready"));
  }));

  const index = (plot) => Number(plot.dataset.map);
  const everything = () => points.rows.map((_, i) => i);
  const span = (values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
    return [low, high];
  };

  // ---- colours

  const readTheme = () => {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(`--${name}`).trim();
    const steps = Array.from({ length: 6 }, (_, k) => of(`s${k}`));
    theme = {
      ink: of("ink"), paper: of("paper"), muted: of("muted"), rule: of("rule"), missing: of("faint"),
      levels: Array.from({ length: 10 }, (_, k) => of(`c${k}`)),
      shades: Array.from({ length: N_SHADES }, (_, k) => blend(steps, k / (N_SHADES - 1))),
    };
  };
  function blend(scale, share) {
    const at = share * (scale.length - 1), k = Math.min(Math.floor(at), scale.length - 2);
    const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
    const [from, to] = [parts(scale[k]), parts(scale[k + 1])];
    return `rgb(${from.map((value, i) => Math.round(value + (at - k) * (to[i] - value))).join()})`;
  }

  const chosenColour = () => (colours ? about.colors[Number(colours.value)] : null);
  const valuesOf = (color, k) => (color.column === null ? points[color.source][k] ?? points.rows.map(() => null) : points.colors[color.column].values);
  const isNumber = ({ kind }) => kind !== "categorical";
  const number = (color, value) => (color.kind === "date" ? day(value) : color.years ? String(Math.round(10 * value) / 10) : formatNumber(value));
  const word = (color, value) => (value === null ? color.missing_label : isNumber(color) ? number(color, value) : color.levels[value]);
  const ends = (color, values) => color.range ?? span(values.filter((value) => value !== null));
  const bin = (value, [low, high], n) => Math.max(0, Math.min(n - 1, Math.floor(n * (value - low) / (high - low || 1))));

  // The points in groups of one colour and shape each; those without a value come first, below the others.
  function groupsOf(color, k) {
    if (color === null) return [{ name: "rows", rows: everything(), paint: theme.levels[0], shape: 0 }];
    const values = valuesOf(color, k), n = isNumber(color) ? N_SHADES : color.groups.length, limits = isNumber(color) ? ends(color, values) : null;
    const groups = Array.from({ length: n }, () => []), missing = [];
    values.forEach((value, i) => (value === null ? missing : groups[limits ? bin(value, limits, n) : color.group[value]]).push(i));
    const found = groups.map((rows, g) => ({
      name: limits ? "" : color.groups[g], rows, paint: limits ? theme.shades[g] : theme.levels[g], shape: limits ? 0 : g,
    }));
    return [{ name: color.missing_label, rows: missing, paint: theme.missing, hollow: true, shape: 0 }, ...found].filter(({ rows }) => rows.length);
  }

  // The parts of a colouring, each level or interval of numbers, with their rows.
  function partsOf(color) {
    const k = about.maps.findIndex((map) => map);
    if (!isNumber(color)) return groupsOf(color, k).map(({ name, rows, paint }) => ({ rows, paint, word: name, text: `${name} (${counted(rows.length)})`, label: `Pick ${name}` }));
    const values = valuesOf(color, k), limits = ends(color, values), bars = Array.from({ length: N_BARS }, () => []), missing = [];
    values.forEach((value, i) => (value === null ? missing : bars[bin(value, limits, N_BARS)]).push(i));
    const most = Math.max(...bars.map((rows) => rows.length), 1), step = (limits[1] - limits[0]) / N_BARS;
    const shown = (value) => number(color, color.kind === "date" || color.years ? value : Number(value.toPrecision(3)));
    const parts = bars.map((rows, k) => {
      const word = `${shown(limits[0] + k * step)} to ${shown(limits[0] + (k + 1) * step)}`;
      return { rows, paint: theme.shades[Math.round(k * (N_SHADES - 1) / (N_BARS - 1))], tall: rows.length / most, word, text: "", label: `Pick ${counted(rows.length)} rows from ${word}` };
    });
    parts[0].before = shown(limits[0]);
    parts.at(-1).after = shown(limits[1]);
    if (missing.length) parts.push({ rows: missing, paint: theme.missing, word: color.missing_label, text: `${color.missing_label} (${counted(missing.length)})`, label: `Pick ${color.missing_label}` });
    return parts;
  }

  // A button for each part, which picks its rows.
  function drawParts(list, color) {
    list.replaceChildren();
    list.classList.toggle("bars", isNumber(color));
    const end = (text) => { if (text !== undefined) list.append(Object.assign(document.createElement("li"), { className: "end", textContent: text })); };
    partsOf(color).forEach((part, key) => {
      const item = document.createElement("li"), button = Object.assign(document.createElement("button"), { type: "button", className: "plain", title: part.label });
      const mark = Object.assign(document.createElement("i"), { ariaHidden: "true" });
      mark.style.background = part.paint;
      if (part.tall !== undefined) mark.style.height = `${Math.max(2, Math.round(26 * part.tall))}px`;
      button.append(mark, part.text);
      button.setAttribute("aria-label", part.label);
      button.addEventListener("click", () => toggle(color, key, part));
      pressed.set(button, () => Boolean(filters.get(color)?.has(key)));
      item.append(button);
      end(part.before);
      list.append(item);
      end(part.after);
    });
    showPressed();
  }
  const showPressed = () => pressed.forEach((isPressed, button) => (button.isConnected ? button.setAttribute("aria-pressed", isPressed()) : pressed.delete(button)));

  // One legend for all maps.
  const drawLegend = () => { if (chosenColour()) drawParts(legend, chosenColour()); };

  // ---- a map

  const fitted = (plot) => {
    const { ends } = points.places[index(plot)], [[left, right], [low, high]] = about.maps[index(plot)].extent;
    // The smallest zoom shows the rows that are far from the others too.
    const [[first, last], [bottom, top]] = ends;
    const far = Math.max(...[[left, right, first, last], [low, high, bottom, top]].map(([a, b, from, to]) => Math.max((a + b) / 2 - from, to - (a + b) / 2) * 2 / (b - a || 1)));
    const { clientWidth: width, clientHeight: height } = plot;
    let across = (width - 2 * MARGIN) / (right - left || 1), up = (height - 2 * MARGIN) / (high - low || 1);
    if (about.maps[index(plot)].one_scale) across = up = Math.min(across, up);
    return { across, up, x: (left + right) / 2, y: (low + high) / 2, width, height, least: far > 1.01 ? 1 / far : 1 };
  };

  // The functions from a place on a map to pixels and back.
  function transform(plot) {
    const fit = fitted(plot), view = views.get(plot) ?? { zoom: 1, x: fit.x, y: fit.y };
    const across = fit.across * view.zoom, up = fit.up * view.zoom;
    return {
      ...fit, view,
      toX: (x) => fit.width / 2 + (x - view.x) * across, toY: (y) => fit.height / 2 - (y - view.y) * up,
      fromX: (x) => view.x + (x - fit.width / 2) / across, fromY: (y) => view.y - (y - fit.height / 2) / up,
    };
  }

  const SHAPES = [
    (pen, x, y, r) => pen.arc(x, y, r, 0, 7),
    (pen, x, y, r) => pen.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
    (pen, x, y, r) => polygon(pen, x, y, 1.25 * r, 4, 0),
    (pen, x, y, r) => polygon(pen, x, y, 1.25 * r, 3, 0),
    (pen, x, y, r) => { pen.rect(x - 1.15 * r, y - 0.4 * r, 2.3 * r, 0.8 * r); pen.rect(x - 0.4 * r, y - 1.15 * r, 0.8 * r, 2.3 * r); },
    (pen, x, y, r) => polygon(pen, x, y, 1.1 * r, 5, 0),
    (pen, x, y, r) => polygon(pen, x, y, 1.35 * r, 5, 0, 0.45),
    (pen, x, y, r) => polygon(pen, x, y, 1.25 * r, 3, Math.PI),
    (pen, x, y, r) => polygon(pen, x, y, 1.35 * r, 4, Math.PI / 4, 0.4),
    (pen, x, y, r) => polygon(pen, x, y, 1.1 * r, 6, 0),
  ];
  function polygon(pen, x, y, r, n, turn, inner = 1) {
    const steps = inner === 1 ? n : 2 * n;
    for (let i = 0; i < steps; i++) {
      const angle = turn + (2 * Math.PI * i) / steps, size = r * (i % 2 && inner !== 1 ? inner : 1);
      pen[i ? "lineTo" : "moveTo"](x + size * Math.sin(angle), y - size * Math.cos(angle));
    }
    pen.closePath();
  }

  function draw(plot) {
    if (!points || !plot.clientWidth) return;
    const canvas = canvasOf(plot), scale = window.devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = plot;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    paint(plot, pen);
  }

  function paint(plot, pen) {
    const { x, y } = points.places[index(plot)], map = about.maps[index(plot)], { toX, toY, width, height, view } = transform(plot);
    const n = points.rows.length, many = n > MOST_SHAPES;
    const size = (n <= 1000 ? 3.5 : many ? 1.5 : 2.5) * Math.min(Math.max(Math.sqrt(view.zoom), 1), 2), opacity = n <= 1000 ? 0.8 : many ? 0.5 : 0.6;
    pen.clearRect(0, 0, width, height);
    for (const part of picked ? [false, true] : [null]) {
      for (const { rows, paint, hollow, shape } of groupsOf(chosenColour(), index(plot))) {
        pen.globalAlpha = part === false ? 0.1 : opacity;
        pen.fillStyle = pen.strokeStyle = paint;
        if (many) {
          for (const row of rows) if (part === null || picked.has(row) === part) pen.fillRect(toX(x[row]) - size, toY(y[row]) - size, 2 * size, 2 * size);
          continue;
        }
        for (const row of rows) {
          if (part !== null && picked.has(row) !== part) continue;
          pen.beginPath();
          SHAPES[shape](pen, toX(x[row]), toY(y[row]), size);
          if (hollow) pen.stroke(); else pen.fill();
        }
      }
    }
    pen.globalAlpha = 1;
    if (arrows?.checked && map.arrows.length) drawArrows(pen, map, toX, toY, width, height);
    drawNumbers(pen, map, toX, toY);
    if (view.row !== undefined && view.row !== null) {
      pen.strokeStyle = theme.ink;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(toX(x[view.row]), toY(y[view.row]), 9, 0, 7);
      pen.stroke();
      pen.lineWidth = 1;
    }
    if (view.outline) {
      pen.strokeStyle = theme.ink;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      view.outline.forEach(([px, py], i) => pen[i ? "lineTo" : "moveTo"](px, py));
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  // A pen that writes what `paint` draws as SVG; neighbouring shapes of one style are one path.
  class SvgPen {
    constructor(width, height) {
      Object.assign(this, { width, height, globalAlpha: 1, lineWidth: 1, parts: [], shape: "", dash: "none", measure: document.createElement("canvas").getContext("2d") });
    }
    add(kind, style, shape) {
      const start = `<${kind} style="${style}; opacity: ${this.globalAlpha}"`, last = this.parts.at(-1);
      if (kind === "path" && last?.[0] === start) last[1] += shape; else this.parts.push([start, shape]);
    }
    beginPath() { this.shape = ""; }
    closePath() { this.shape += "Z"; }
    moveTo(x, y) { this.shape += `M${x.toFixed(1)} ${y.toFixed(1)}`; }
    lineTo(x, y) { this.shape += `L${x.toFixed(1)} ${y.toFixed(1)}`; }
    rect(x, y, width, height) { this.moveTo(x, y); this.shape += `h${width.toFixed(1)}v${height.toFixed(1)}h${-width.toFixed(1)}Z`; }
    arc(x, y, r) { this.moveTo(x - r, y); for (const side of [2 * r, -2 * r]) this.shape += `a${r} ${r} 0 1 0 ${side} 0`; }
    fill() { this.add("path", `fill: ${this.fillStyle}`, this.shape); }
    stroke() { this.add("path", `fill: none; stroke: ${this.strokeStyle}; stroke-width: ${this.lineWidth}; stroke-dasharray: ${this.dash}`, this.shape); }
    fillRect(...box) { this.beginPath(); this.rect(...box); this.fill(); }
    clearRect() { this.fillStyle = theme.paper; this.fillRect(0, 0, this.width, this.height); }
    setLineDash(dash) { this.dash = dash.join(" ") || "none"; }
    measureText(text) { this.measure.font = this.font; return this.measure.measureText(text); }
    strokeText() {}
    // The edge in the colour of the paper is below the letters.
    fillText(text, x, y) {
      const place = Object.assign(document.createElement("p"), { textContent: text }).innerHTML;
      this.add("text", `font: ${this.font.replaceAll('"', "'")}; text-anchor: middle; dominant-baseline: central; fill: ${this.fillStyle}; stroke: ${theme.paper}; stroke-width: 4; paint-order: stroke`, [x, y, place]);
    }
    text() {
      const parts = this.parts.map(([start, shape]) => (typeof shape === "string" ? `${start} d="${shape}"/>` : `${start} x="${shape[0].toFixed(1)}" y="${shape[1].toFixed(1)}">${shape[2]}</text>`));
      return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}">${parts.join("")}</svg>`;
    }
  }

  const FONT = '13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  function written(pen, text, x, y) {
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = theme.paper;
    pen.strokeText(text, x, y);
    pen.lineWidth = 1;
    pen.fillStyle = theme.ink;
    pen.fillText(text, x, y);
  }

  // The numbers of the clusters, at the medians of their points.
  function drawNumbers(pen, map, toX, toY) {
    pen.font = `bold 18px ${FONT.slice(5)}`;
    map.clusters.forEach(([x, y], k) => written(pen, String(k + 1), toX(x), toY(y)));
  }

  // Each name is placed beyond the tip of its arrow, moved up or down to a free position, away from the numbers of the clusters.
  function drawArrows(pen, map, toX, toY, width, height) {
    const within = (value, half, size) => Math.max(half + 2, Math.min(size - half - 2, value));
    const taken = map.clusters.map(([x, y]) => ({ x: toX(x), y: toY(y), halfX: 9 }));
    const steps = [0, ...map.arrows.flatMap((_, k) => [2 * k + 1, -2 * k - 1, 2 * k + 2, -2 * k - 2])];
    const [originX, originY] = [toX(0), toY(0)];
    pen.font = FONT;
    const names = map.arrows.map(({ x, y, name }) => {
      const [tipX, tipY] = [toX(x), toY(y)], angle = Math.atan2(tipY - originY, tipX - originX);
      pen.strokeStyle = pen.fillStyle = theme.ink;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(originX, originY);
      pen.lineTo(tipX, tipY);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(tipX, tipY);
      for (const side of [-0.4, 0.4]) pen.lineTo(tipX - 10 * Math.cos(angle + side), tipY - 10 * Math.sin(angle + side));
      pen.fill();
      const halfX = pen.measureText(name).width / 2 + 3, halfY = 9;
      const centreX = within(tipX + (halfX + 4) * Math.cos(angle), halfX, width), centreY = tipY + (halfY + 4) * Math.sin(angle);
      const at = (step) => within(centreY + step * halfY, halfY, height);
      const free = (place) => taken.every((box) => Math.abs(box.x - centreX) >= box.halfX + halfX || Math.abs(box.y - place) >= 2 * halfY);
      const place = steps.map(at).find(free) ?? at(0);
      taken.push({ x: centreX, y: place, halfX });
      return [name, centreX, place];
    });
    names.forEach(([name, x, y]) => written(pen, name, x, y));
  }

  // ---- what a reader does with a map

  function canvasOf(plot) {
    if (plot.querySelector("canvas")) return plot.querySelector("canvas");
    const canvas = document.createElement("canvas");
    plot.append(canvas);
    plot.classList.add("live");
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")} Arrow keys go from row to row, Enter picks a row, plus and minus zoom, 0 shows the whole map.`);
    listen(plot, canvas);
    return canvas;
  }

  // There before the map is drawn, so that nothing moves under a pointer when it is.
  function addTools(plot) {
    const tools = Object.assign(document.createElement("div"), { className: "map-tools tools" });
    for (const [text, label, work] of [
      ["+", "Zoom in", () => zoom(plot, 1.6)], ["−", "Zoom out", () => zoom(plot, 1 / 1.6)], ["Whole map", "Show the whole map", () => zoom(plot, 0)],
    ]) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: text, title: label });
      button.addEventListener("click", work);
      tools.append(button);
    }
    addFigureMenu(tools, {
      name: plot.id,
      svg: () => ready().then(() => { const pen = new SvgPen(plot.clientWidth, plot.clientHeight); paint(plot, pen); return pen.text(); }),
      png: () => ready().then(() => { draw(plot); return new Promise((done) => canvasOf(plot).toBlob(done)); }),
    });
    plot.parentElement.append(tools);
  }

  // Zooms around a place in pixels; 0 shows the whole map.
  function zoom(plot, factor, at = null) {
    const { view, fromX, fromY, width, height, least } = transform(plot), to = Math.min(factor * view.zoom, 200);
    if (factor === 0 || (to <= 1 && least === 1)) {
      views.set(plot, { ...transform(plot), ...fitted(plot), zoom: 1, row: view.row });
    } else {
      const [px, py] = at ?? [width / 2, height / 2], [x, y] = [fromX(px), fromY(py)], zoomed = Math.max(to, least), ratio = view.zoom / zoomed;
      views.set(plot, { ...view, zoom: zoomed, x: x + (view.x - x) * ratio, y: y + (view.y - y) * ratio });
    }
    draw(plot);
  }

  function nearest(plot, px, py) {
    const { x, y } = points.places[index(plot)], { toX, toY } = transform(plot);
    let found = null, least = NEAR;
    points.rows.forEach((_, row) => {
      const distance = Math.hypot(toX(x[row]) - px, toY(y[row]) - py);
      if (distance < least) found = row, least = distance;
    });
    return found;
  }

  // The nearest row in the direction of an arrow key.
  function towards(plot, row, key) {
    const { x, y } = points.places[index(plot)], { toX, toY, width, height } = transform(plot);
    const [fromX, fromY] = row === null ? [width / 2, height / 2] : [toX(x[row]), toY(y[row])];
    const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let found = row, least = Infinity;
    points.rows.forEach((_, other) => {
      const [awayX, awayY] = [toX(x[other]) - fromX, toY(y[other]) - fromY];
      const along = awayX * dx + awayY * dy, aside = Math.abs(awayX * dy) + Math.abs(awayY * dx);
      if (other !== row && along > 0 && aside <= along && along + 2 * aside < least) found = other, least = along + 2 * aside;
    });
    return found;
  }

  // The lines on a row: its number and values, that of the colouring first.
  function lines(row, k) {
    const color = chosenColour(), line = (color, value) => `${color.title}: ${word(color, value)}`;
    const first = color === null ? [] : [line(color, valuesOf(color, k)[row])];
    const others = about.colors.filter((color) => color.column !== null).map((color) => line(color, points.colors[color.column].values[row]));
    return [`Row ${counted(points.rows[row] + 1)}`, ...first, ...others.filter((other) => other !== first[0]).slice(0, MAX_VALUES)];
  }

  function point(plot, row) {
    const label = byId("pointed");
    label.hidden = row === null;
    if (row === null) return;
    const { toX, toY } = transform(plot), { x, y } = points.places[index(plot)], box = plot.getBoundingClientRect();
    label.textContent = lines(row, index(plot)).join("\n");
    label.style.left = `${Math.min(scrollX + box.left + toX(x[row]) + 14, document.documentElement.clientWidth - label.offsetWidth - 8)}px`;
    label.style.top = `${scrollY + box.top + toY(y[row]) + 14}px`;
  }

  function listen(plot, canvas) {
    let start = null;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const change = (values) => views.set(plot, { ...transform(plot).view, ...values });
    canvas.addEventListener("pointerdown", (event) => {
      start = { at: at(event), view: transform(plot).view, moved: false };
      if (lasso.ariaPressed === "true") change({ outline: [start.at] });
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [px, py] = at(event);
      if (!start) return point(plot, nearest(plot, px, py));
      const [dx, dy] = [px - start.at[0], py - start.at[1]], outline = views.get(plot)?.outline;
      start.moved ||= Math.hypot(dx, dy) > 4;
      if (outline) {
        outline.push([px, py]);
      } else if (start.moved && start.view.zoom !== 1) {
        const { across, up } = fitted(plot);
        change({ x: start.view.x - dx / (across * start.view.zoom), y: start.view.y + dy / (up * start.view.zoom) });
      }
      point(plot, null);
      return draw(plot);
    });
    canvas.addEventListener("pointerup", (event) => {
      const outline = views.get(plot)?.outline;
      if (outline) {
        const rows = rowsWithin(plot, outline);
        change({ outline: null });
        pick(rows);
      } else if (start && !start.moved) {
        const row = nearest(plot, ...at(event));
        if (row !== null) pick([row], { toggled: true });
      }
      start = null;
      draw(plot);
    });
    canvas.addEventListener("pointerleave", () => point(plot, null));
    canvas.addEventListener("dblclick", (event) => zoom(plot, 2, at(event)));
    // The wheel alone scrolls the page.
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(plot, Math.exp(-event.deltaY / 300), at(event));
    }, { passive: false });
    plot.addEventListener("keydown", (event) => {
      const row = views.get(plot)?.row ?? null;
      if (event.key.startsWith("Arrow")) {
        change({ row: towards(plot, row, event.key) });
        const now = views.get(plot).row;
        point(plot, now);
        byId("map-status").textContent = now === null ? "" : lines(now, index(plot)).join(", ");
        draw(plot);
      } else if (event.key === "Enter" && row !== null) pick([row], { toggled: true });
      else if (event.key === "+" || event.key === "=") zoom(plot, 1.6);
      else if (event.key === "-") zoom(plot, 1 / 1.6);
      else if (event.key === "0") zoom(plot, 0);
      else return;
      event.preventDefault();
    });
    plot.addEventListener("blur", () => { change({ row: null }); point(plot, null); draw(plot); });
  }

  // ---- rows that are picked: by a lasso, a point, a colour of the legend, or their numbers

  const box = byId("picked");
  const finder = document.querySelector("#pick input");

  function rowsWithin(plot, outline) {
    const { x, y } = points.places[index(plot)], { toX, toY } = transform(plot), n = outline.length;
    const isWithin = (row) => {
      const [px, py] = [toX(x[row]), toY(y[row])];
      let within = false;
      for (let i = 0, before = n - 1; i < n; before = i++) {
        const [[x1, y1], [x2, y2]] = [outline[i], outline[before]];
        if (y1 > py !== y2 > py && px < ((x2 - x1) * (py - y1)) / (y2 - y1) + x1) within = !within;
      }
      return within;
    };
    return everything().filter(isWithin);
  }

  function pick(rows, { byText = false, toggled = false } = {}) {
    const again = toggled && picked?.size === rows.length && rows.every((row) => picked.has(row));
    filters.clear();
    showRows(again ? [] : rows, byText);
  }

  // Rows in any pressed part of a colouring, and so in every colouring with pressed parts.
  function toggle(color, key, part) {
    const parts = filters.get(color) ?? filters.set(color, new Map()).get(color);
    if (!parts.delete(key)) parts.set(key, part);
    if (!parts.size) filters.delete(color);
    const unions = [...filters.values()].map((parts) => new Set([...parts.values()].flatMap(({ rows }) => rows)));
    showRows(unions.length ? [...unions[0]].filter((row) => unions.every((rows) => rows.has(row))) : []);
  }

  function showRows(rows, byText = false) {
    picked = rows.length || filters.size ? new Set(rows) : null;
    if (!byText) finder.value = "", byId("pick-status").textContent = "";
    redraw();
    showPressed();
    showPicked();
  }

  function showPicked() {
    box.hidden = picked === null;
    if (picked === null) return;
    const n = points.rows.length, rows = [...picked];
    box.querySelector(".status").textContent = `${counted(picked.size)} of ${counted(n)} rows ${picked.size === 1 ? "is" : "are"} picked${
      filters.size ? `: ${[...filters].map(([color, parts]) => `${color.title} ${[...parts.values()].map(({ word }) => word).join(" or ")}`).join(", and ")}` : ", on every map"}.`;
    const near = (rows.length === 1 && points.near[rows[0]]) || [], others = peers(rows);
    byId("picked-near").hidden = !near.length;
    byId("picked-near").firstElementChild.textContent = near.length ? `The ${near.length} nearest rows in the table: ${near.map((i) => points.rows[i] + 1).join(", ")}.${shownNear(rows[0], near)}` : "";
    byId("picked-others").textContent = others.label;
    box.querySelector("tbody").replaceChildren(...about.colors.filter((color) => color.column !== null).map((color) => {
      const { values } = points.colors[color.column];
      const line = document.createElement("tr"), name = document.createElement("th");
      name.scope = "row", name.className = "name", name.textContent = color.option;
      const cells = [rows, others.rows].map((some) => some.map((i) => values[i])).map((some) => {
        const cell = document.createElement("td");
        cell.textContent = usual(color, some.filter((value) => value !== null));
        return cell;
      });
      line.append(name, ...cells);
      return line;
    }));
  }

  // A single row is compared with its class.
  function peers(rows) {
    const target = about.colors[0], { values } = points.colors[0] ?? {};
    if (rows.length > 1 || !target?.target || isNumber(target) || values[rows[0]] === null) return { label: "All rows shown", rows: everything() };
    return { label: `Rows of ${word(target, values[rows[0]])}`, rows: everything().filter((i) => values[i] === values[rows[0]]) };
  }

  // How many of the rows that are nearest in the table each open map shows among as many nearest ones, of the rows that were evaluated.
  function shownNear(row, near) {
    const known = everything().filter((i) => points.near[i] && i !== row);
    const among = known.length + 1 < points.rows.length ? ` (Of ${counted(known.length + 1)} evaluated rows.)` : "";
    return among + plots.filter((plot) => plot.closest("details")?.open ?? true).map((plot) => {
      const { x, y } = points.places[index(plot)], away = new Map(known.map((i) => [i, Math.hypot(x[i] - x[row], y[i] - y[row])]));
      const onMap = new Set(known.sort((i, j) => away.get(i) - away.get(j)).slice(0, near.length));
      return ` ${plot.dataset.label} shows ${near.filter((i) => onMap.has(i)).length} of them among its ${near.length} nearest.`;
    }).join("");
  }

  // The mean of numbers, or the most frequent level and its share.
  function usual(color, values) {
    if (!values.length) return "–";
    if (isNumber(color)) return number(color, values.reduce((sum, value) => sum + value, 0) / values.length);
    const counts = new Map();
    values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
    const [level, n] = [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best));
    return `${color.levels[level]} (${Math.round((100 * n) / values.length)}%)`;
  }

  // Picks rows by their numbers in the table, such as "3, 10-20", or by a value, such as "Dream" or "island: Dream".
  function find(text) {
    const byNumbers = /^[\d\s,–-]*$/.test(text), found = byNumbers ? rowsByNumber(text) : { rows: rowsByValue(text.trim().toLowerCase()) };
    pick(found.rows, { byText: true });
    byId("pick-status").textContent = !text.trim() ? "" : !found.rows.length ? "No shown row has this number or value."
      : `${counted(found.rows.length)} row${found.rows.length === 1 ? "" : "s"} found.${found.n > found.rows.length ? " Not all of these rows are shown." : ""}`;
  }
  function rowsByNumber(text) {
    const ranges = text.split(",").map((part) => part.split(/[-–]/).map((number) => Number.parseInt(number, 10)));
    const within = (row) => ranges.some(([first, last = first]) => first <= row + 1 && row + 1 <= last);
    return { rows: everything().filter((at) => within(points.rows[at])), n: ranges.reduce((sum, [first, last = first]) => sum + Math.max(last - first + 1, 0), 0) };
  }
  // A text that is a part of a level, or the whole of a number or a date.
  function rowsByValue(text) {
    const own = about.colors.filter(({ column, name }) => column !== null && text.startsWith(`${name.toLowerCase()}:`));
    const matches = (own.length ? own : about.colors.filter(({ column }) => column !== null)).map((color) => {
      const wanted = own.length ? text.slice(color.name.length + 1).trim() : text, values = valuesOf(color, 0);
      const fits = (value) => { const one = String(word(color, value)).toLowerCase(); return isNumber(color) && value !== null ? one === wanted || String(value) === wanted : one.includes(wanted); };
      const levels = isNumber(color) ? null : new Set([null, ...color.levels.keys()].filter(fits));
      return (row) => (levels ? levels.has(values[row]) : fits(values[row]));
    });
    return everything().filter((row) => matches.some((match) => match(row)));
  }

  // What the table of columns shows of a column on the maps.
  const colouring = (name) => about.colors.find((color) => color.column !== null && color.name === name);
  onMap = {
    has: (name) => Boolean(colouring(name)),
    drawParts: (list, name) => ready().then(() => drawParts(list, colouring(name))),
    show(name) {
      colours.value = about.colors.indexOf(colouring(name));
      colours.dispatchEvent(new Event("change"));
      byId("choices").scrollIntoView();
    },
  };

  const visible = new Set();
  const redraw = () => visible.forEach(draw);

  if (about.maps.some((map) => map)) {
    readTheme();
    const near = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
      if (!isIntersecting) return visible.delete(target);
      visible.add(target);
      return ready().then(() => { draw(target); if (!pressed.size) drawLegend(); });
    }), { rootMargin: "400px" });
    const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => { if (visible.has(target)) draw(target); }));
    plots.forEach((plot) => { addTools(plot); near.observe(plot); resized.observe(plot); });
    // Loaded when idle, so that a choice acts at once.
    addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(() => ready().then(drawLegend)));
    dark.addEventListener("change", () => { readTheme(); if (points) drawLegend(), redraw(); });
    lasso.addEventListener("click", () => { lasso.ariaPressed = String(lasso.ariaPressed !== "true"); plots.forEach((plot) => plot.classList.toggle("lassoed", lasso.ariaPressed === "true")); });
    colours?.addEventListener("change", () => ready().then(() => { drawLegend(); redraw(); }));
    arrows?.addEventListener("change", redraw);
    finder.addEventListener("change", () => ready().then(() => find(finder.value)));
    byId("picked-near").lastElementChild.addEventListener("click", () => pick([...picked].flatMap((row) => [row, ...points.near[row]])));
    byId("picked-clear").addEventListener("click", () => pick([]));
    byId("picked-save").addEventListener("click", () => result().then((numbers) => save("picked-rows.csv", "text/csv", [csv(coordinates(numbers, [...picked].sort((a, b) => a - b)))])));
  }
} else {
  byId("choices")?.remove();
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
