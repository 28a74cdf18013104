// ---- keyboard navigation in the lattice: arrow keys move between subsets; the current subset is described under the chart

if (byId("lattice")) {
  const plot = byId("lattice");
  const { nodes, start, data } = json(plot.dataset.spec);
  const curve = data.findIndex((trace) => trace.name === "A subset");
  const { x, y, customdata } = data[curve];
  let at = start;
  const show = () => {
    const [names, size, merit] = customdata[at];
    const text = new DOMParser().parseFromString(names.replaceAll("<br>", " "), "text/html").body.textContent;
    byId("lattice-status").textContent = `${text}: ${size}, merit ${merit}`;
    if (window.Plotly && plot.data) Plotly.Fx.hover(plot, [{ curveNumber: curve, pointNumber: at }]);
  };
  // The nearest of the next size, or the next of the same size.
  const beyond = (up) => {
    const heights = [...new Set(y)].sort((a, b) => a - b);
    const height = heights[heights.indexOf(y[at]) + up];
    const level = nodes.map((_, i) => i).filter((i) => y[i] === height);
    return level.length ? level.reduce((best, i) => (Math.abs(x[i] - x[at]) < Math.abs(x[best] - x[at]) ? i : best)) : at;
  };
  const moves = {
    ArrowRight: () => Math.min(at + 1, nodes.length - 1), ArrowLeft: () => Math.max(at - 1, 0),
    ArrowUp: () => beyond(1), ArrowDown: () => beyond(-1),
  };
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")} Arrow keys go from one to the next.`);
  plot.addEventListener("focus", show);
  plot.addEventListener("keydown", (event) => {
    if (!moves[event.key]) return;
    event.preventDefault();
    at = moves[event.key]();
    show();
  });
  // A crowded lattice is printed as its table, which must be open.
  const sets = plot.closest(".crowded")?.querySelector("details");
  if (sets) addEventListener("beforeprint", () => { sets.open = true; });
  plot.addEventListener("blur", () => { if (window.Plotly && plot.data) Plotly.Fx.unhover(plot); });
}
