// ---- the ranking

if (byId("scores")) {
  const table = byId("scores");
  const rows = [...table.tBodies[0].rows];
  const heads = table.tHead.rows[0].cells;
  const criteria = all("th.criterion", table).map((head) => head.cellIndex);

  // The reader's choice, wherever it is made.
  const boxes = new Map(rows.map((row) => [row.querySelector("th").title, row.querySelector(".keep input")]));
  const follow = () => boxes.forEach((box, name) => { box.checked = chosen.has(name); });
  table.tBodies[0].addEventListener("change", (event) => {
    chosen.toggle(event.target.closest("tr").querySelector("th").title, event.target.checked);
  });
  chosen.listen(follow);
  follow();

  byId("hide-zero-scores")?.addEventListener("change", (event) => {
    rows.forEach((row) => row.toggleAttribute("data-out", event.target.checked && "zeroScores" in row.dataset));
    table.dispatchEvent(new Event("refold"));
  });
  all("[data-criterion]", byId("scores-shows")).forEach((box) => {
    const column = criteria[Number(box.dataset.criterion)];
    const show = () => [heads[column], ...rows.map((row) => row.cells[column])].forEach((cell) => { cell.hidden = !box.checked; });
    box.addEventListener("change", show);
    // A browser that comes back to the page remembers the boxes.
    if (!box.checked) show();
  });
  byId("scores-shows").hidden = !byId("scores-shows").children.length;
}
