// ---- the columns: found by name, filtered by what became of them, ranked by any criterion, each with all its evidence

if (byId("columns-table")) {
  const table = byId("columns-table"), tools = byId("columns-tools"), more = byId("columns-more");
  const search = tools.querySelector("input"), states = byId("column-states"), scores = byId("column-scores");
  const AT_ONCE = Number(table.dataset.atOnce), STEP = 300;
  let bodies = [], limit = AT_ONCE, rest = null;
  const places = new Map();
  const nameOf = (body) => body.querySelector("th").title;

  // Each column is a body of two rows, the second with its evidence.
  const adopt = () => {
    bodies = [...table.tBodies];
    bodies.forEach((body) => {
      if (!places.has(body)) places.set(body, places.size);
      const head = body.querySelector("th");
      if (head.tabIndex === 0) return;
      head.tabIndex = 0;
      head.setAttribute("aria-expanded", "false");
      body.querySelector(".keep input").checked = chosen.has(nameOf(body));
    });
  };
  // The rows of very many columns are packed, and unpacked when a reader looks for one of them.
  const whole = () => (rest ??= byId("columns-rest") && typeof DecompressionStream !== "undefined"
    ? unpacked("columns-rest", "text/html").then((blob) => blob.text()).then((html) => {
      table.insertAdjacentHTML("beforeend", html);
      adopt();
    }) : Promise.resolve());

  const show = () => {
    const wanted = (search?.value ?? "").trim().toLowerCase(), state = states?.value ?? "";
    let found = 0;
    for (const body of bodies) {
      const hit = (!state || body.dataset.state === state) && (!wanted || nameOf(body).toLowerCase().includes(wanted));
      body.hidden = !hit || found >= limit;
      if (hit) found += 1;
    }
    const n = Math.min(found, limit), filtered = wanted || state;
    tools.querySelector(".status").textContent = filtered || n < found ? `${n.toLocaleString("en")} of ${(filtered ? found : bodies.length).toLocaleString("en")} shown` : "";
    if (!more) return;
    const button = more.querySelector("button"), isOpen = found <= limit, total = Number(table.dataset.total);
    more.hidden = found <= AT_ONCE && bodies.length === total;
    button.setAttribute("aria-expanded", isOpen && bodies.length === total);
    button.textContent = isOpen && bodies.length === total ? `Show the first ${AT_ONCE} only`
      : total - limit > STEP && !filtered ? `Show ${STEP} more columns` : filtered ? "Show all that were found" : `Show all ${total.toLocaleString("en")} columns`;
  };

  const order = (key, sign, header) => {
    const keys = new Map(bodies.map((body) => [body, key(body)]));
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    // Columns without a value are last in either order.
    bodies.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      const unequal = a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b);
      return unequal || places.get(one) - places.get(other);
    });
    table.append(...bodies);
    all("thead th[aria-sort]", table).forEach((th) => th.setAttribute("aria-sort", th === header ? (sign > 0 ? "ascending" : "descending") : "none"));
    show();
  };
  const number = (body, name) => {
    const value = body.querySelector(`td.${name}`)?.dataset.value;
    return value ? Number(value) : null;
  };
  all("thead th[aria-sort]", table).forEach((header) => header.querySelector("button").addEventListener("click", () => whole().then(() => {
    const name = header.dataset.key, sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    order(name ? (body) => number(body, name) : nameOf, sign, header);
  })));

  // By a criterion the score takes the place of the mean rank.
  scores?.addEventListener("change", () => Promise.all([whole(), result()]).then(([, { ranking }]) => {
    const values = scores.value && new Map(ranking.columns.map((name, j) => [name, ranking.scores[scores.value][j]]));
    const header = table.querySelector("th[data-key=rank]"), button = header.querySelector("button");
    button.dataset.own ??= button.textContent;
    button.textContent = values ? scores.selectedOptions[0].textContent : button.dataset.own;
    for (const body of bodies) {
      const cell = body.querySelector("td.rank"), score = values ? values.get(nameOf(body)) : null;
      cell.dataset.own ??= cell.textContent;
      cell.dataset.mean ??= cell.dataset.value;
      cell.textContent = !values ? cell.dataset.own : score === null || score === undefined ? "–" : formatNumber(Number(score.toPrecision(4)));
      cell.dataset.value = !values ? cell.dataset.mean : score ?? "";
      cell.nextElementSibling.firstElementChild?.toggleAttribute("hidden", Boolean(values));
    }
    order((body) => number(body, "rank"), values ? -1 : 1, header);
  }));

  // The labels of the evidence are made elements when a reader opens it.
  const label = (cell, name) => {
    if (cell.firstElementChild) return;
    cell.replaceChildren(...cell.textContent.split("\n").map((line) => {
      const [name, ...text] = line.split(": "), paragraph = document.createElement("p");
      paragraph.append(Object.assign(document.createElement("b"), { textContent: name }), ` ${text.join(": ")}`);
      return paragraph;
    }));
    if (!onMap?.has(name)) return;
    const parts = Object.assign(document.createElement("ul"), { className: "chips parts" });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Show its rows on the map" });
    parts.setAttribute("aria-label", `Values of ${name}; press one to pick its rows on the map`);
    button.addEventListener("click", () => onMap.show(name));
    cell.append(parts, button);
    onMap.drawParts(parts, name);
  };
  const toggle = (head) => {
    label(head.closest("tbody").querySelector(".facts td"), nameOf(head.closest("tbody")));
    const open = head.closest("tbody").classList.toggle("open");
    head.setAttribute("aria-expanded", open);
  };
  table.addEventListener("click", (event) => {
    const head = event.target.closest("tbody th");
    if (head) toggle(head);
  });
  table.addEventListener("keydown", (event) => {
    if (!event.target.matches("tbody th") || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    toggle(event.target);
  });
  table.addEventListener("change", ({ target }) => chosen.toggle(nameOf(target.closest("tbody")), target.checked));
  chosen.listen(() => bodies.forEach((body) => { body.querySelector(".keep input").checked = chosen.has(nameOf(body)); }));
  search?.addEventListener("input", () => whole().then(() => { limit = AT_ONCE; show(); }));
  states?.addEventListener("change", () => whole().then(() => { limit = AT_ONCE; show(); }));
  more?.querySelector("button").addEventListener("click", ({ target }) => whole().then(() => {
    const isOpen = target.getAttribute("aria-expanded") === "true";
    limit = isOpen ? AT_ONCE : limit + STEP;
    show();
    if (isOpen) table.scrollIntoView({ block: "start" });
  }));
  table.classList.add("live");
  tools.hidden = !tools.querySelector("label");
  adopt();
  show();
}
