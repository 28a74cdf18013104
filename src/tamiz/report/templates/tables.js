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
  body.append(...rows.map(([, row]) => row));
}

all("table:not(#columns-table) th[aria-sort] button").forEach((button) => {
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
