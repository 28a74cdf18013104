// ---- redundancy: one column of each group

if (byId("keep-one")) {
  const { groups, others } = json("same-columns");
  const kept = groups.map(({ columns, keep }) => columns[keep]);
  const tools = byId("keep-one"), status = tools.querySelector(".status"), list = byId("same");
  const countedNoun = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  const showStatus = () => {
    const twice = groups.filter(({ columns }) => columns.filter(chosen.has).length > 1).length;
    const redundant = `more than one of ${countedNoun(twice, "group")}`;
    status.textContent = `Chosen now: ${countedNoun(chosen.names().length, "column")}, ${twice ? redundant : "at most one of each group"}.`;
  };
  tools.querySelector("button").addEventListener("click", () => chosen.set([...kept, ...others]));
  list.addEventListener("change", ({ target }) => {
    const at = Number(target.name.split("-")[1]) - 1;
    const before = kept[at];
    kept[at] = groups[at].columns[Number(target.value)];
    // If the previously marked column is chosen, the newly marked one replaces it.
    if (chosen.has(before)) chosen.set([...chosen.names().filter((name) => name !== before), kept[at]]);
  });
  all("input", list).forEach((input) => { input.disabled = false; });
  chosen.listen(showStatus);
  showStatus();
  tools.hidden = false;

  const more = byId("more-same"), button = more?.querySelector("button");
  if (more) {
    const closed = button.textContent;
    list.classList.add("folded");
    more.hidden = false;
    button.addEventListener("click", () => {
      const open = !list.classList.toggle("folded");
      button.setAttribute("aria-expanded", open);
      button.textContent = open ? "Show the first groups only" : closed;
    });
  }
}
