// ---- buttons that copy the ticked columns as code

if (byId("copies")) {
  const box = byId("copies");
  const list = (names) => `[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
  const texts = [
    () => chosen.others().join("\n"),
    () => `table = table[${list(chosen.names())}]`,
    () => `ColumnTransformer([("kept", "passthrough", ${list(chosen.names())})])`,
  ];
  const status = Object.assign(document.createElement("span"), { className: "hint", role: "status" });
  all("button", box).forEach((button, k) => {
    button.addEventListener("click", async () => { status.textContent = (await copyText(texts[k]())) ? "Copied." : "The browser does not allow to copy."; });
  });
  box.append(status);
}

// ---- buttons that save the chosen columns, the ranking, the coordinates and all numbers

if (byId("takeaway") && typeof DecompressionStream !== "undefined") {
  const box = byId("takeaway");
  const offer = (id, label, work) => {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", id, textContent: label });
    button.addEventListener("click", work);
    box.append(button);
    return button;
  };
  const table = (name, rows) => save(name, "text/csv", [csv(rows)]);

  const columns = offer("save-columns", "", () => table("chosen-columns.csv", [["column"], ...chosen.names().map((name) => [name])]));
  const count = () => {
    const n = chosen.names().length;
    columns.textContent = `Save the ${n === 1 ? "ticked column" : `${n.toLocaleString("en")} ticked columns`} as CSV`;
    columns.disabled = n === 0;
  };
  chosen.listen(count);
  count();
  const { hasRanking, hasPoints } = box.dataset;
  if (hasRanking) offer("save-ranking", "Save the ranking as CSV", async () => table("ranking.csv", ranked((await result()).ranking)));
  if (hasPoints) offer("save-coordinates", "Save the coordinates as CSV", async () => table("coordinates.csv", coordinates(await result())));
  offer("save", "Save all numbers as JSON", async () => {
    save("tamiz-result.json", "application/json", [byId("packed") ? JSON.stringify(await result()) : await unpacked("numbers", "application/json")]);
  });
  box.hidden = false;
}

// Every column with its mean rank and scores, best first.
function ranked({ criteria, columns, scores, mean_rank: combined }) {
  const head = ["column", ...(combined ? ["mean rank", "lowest", "highest"] : []), ...criteria.map(({ label }) => label)];
  const order = columns.map((_, j) => j);
  const rank = (j) => combined?.ranks[j] ?? Infinity;
  const score = (j) => scores[criteria[0].id][j] ?? -Infinity;
  if (combined) order.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)) || score(b) - score(a) || a - b);
  return [head, ...order.map((j) => [
    columns[j], ...(combined ? [combined.ranks[j], ...(combined.intervals[j] ?? [null, null])] : []), ...criteria.map(({ id }) => scores[id][j]),
  ])];
}
