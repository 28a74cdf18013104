// ---- tables

// The text of a cell, without the notes in it.
const textOf = (cell) => [...cell.childNodes].filter((node) => !node.classList?.contains("note")).map((node) => node.textContent).join("").trim();

function key(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value;
  if (value === undefined) return textOf(cell) || null;
  return value === "" ? null : Number(value);
}

function sort(table, header) {
  const column = header.cellIndex;
  // Numbers are sorted in descending order first, unless the heading sets another order.
  const first = header.dataset.first ?? (header.classList.contains("num") ? "descending" : "ascending");
  const other = first === "descending" ? "ascending" : "descending";
  const order = header.getAttribute("aria-sort") === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [key(row, column), row]);
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  // Rows without a value are last in either order.
  rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
  all("thead th[aria-sort]", table).forEach((th) => th.setAttribute("aria-sort", th === header ? order : "none"));
  if ("ranked" in table.dataset) rows.forEach(([value, row], i) => { row.cells[0].textContent = value === null ? "" : i + 1; });
  body.append(...rows.map(([, row]) => row));
  table.dispatchEvent(new Event("refold"));
}

// Rows that a browser lays out without a noticeable delay.
const AT_ONCE = 300;

function foldable(table) {
  const limit = Number(table.dataset.fold);
  const tools = document.querySelector(`.tools[data-table="${table.id}"]`);
  const more = document.querySelector(`.more[data-table="${table.id}"]`);
  const search = tools?.querySelector("input");
  const button = more?.querySelector("button");
  const closed = button?.textContent;
  let shown = limit;
  const show = () => {
    const wanted = (search?.value ?? "").trim().toLowerCase();
    let found = 0;
    for (const row of table.tBodies[0].rows) {
      const name = row.querySelector("th");
      const named = !wanted || name.title.toLowerCase().includes(wanted) || textOf(name).toLowerCase().includes(wanted);
      // A section may hide rows itself.
      const hit = named && !("out" in row.dataset);
      row.hidden = !hit || found >= shown;
      if (hit) found += 1;
    }
    if (tools) {
      const n = Math.min(found, shown);
      tools.querySelector(".status").textContent = wanted || n < found
        ? `${n.toLocaleString("en")} of ${(wanted ? found : table.tBodies[0].rows.length).toLocaleString("en")} ${wanted ? "found" : ""} shown`.replace("  ", " ") : "";
    }
    if (!more) return;
    more.hidden = found <= limit;
    const left = found - shown, isOpen = left <= 0;
    button.setAttribute("aria-expanded", isOpen);
    button.textContent = isOpen ? `Show the first ${limit} only` : left > AT_ONCE ? `Show ${AT_ONCE} more columns` : wanted ? "Show all that were found" : closed;
  };
  button?.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    shown = isOpen ? limit : shown + AT_ONCE;
    show();
    if (isOpen) table.scrollIntoView({ block: "start" });
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

// The edges beyond which a table continues.
const edges = (box) => {
  const left = box.scrollWidth - box.clientWidth - box.scrollLeft;
  box.classList.toggle("continued", left > 2);
  box.classList.toggle("scrolled", box.scrollLeft > 2);
};
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => edges(target.closest(".scroll"))));
all(".scroll").forEach((box) => {
  [box, ...box.children].forEach((one) => resized.observe(one));
  box.addEventListener("scroll", () => edges(box), { passive: true });
});
