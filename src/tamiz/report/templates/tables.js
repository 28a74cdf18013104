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
