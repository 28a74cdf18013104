// ---- figures: one menu for all, which saves a figure, or copies the code that draws it

// The code of the study, with the imports that it uses, and the line that draws a figure.
function codeOf(name) {
  const lines = byId("reproduction-python").textContent.split("\n"), end = lines.findIndex((line) => line.startsWith("result.to_html("));
  const code = lines.slice(0, end), rest = code.filter((line) => !line.startsWith("from "));
  const used = code.flatMap((line) => {
    const [, from, names] = line.match(/^from (\S+) import (.+)$/) ?? [];
    const needed = names?.split(", ").filter((one) => rest.some((other) => new RegExp(`\\b${one}\\b`).test(other)));
    return needed?.length ? [`from ${from} import ${needed.join(", ")}`] : [];
  });
  return [...used, ...rest, `result.figure("${name}").savefig("${name}.png")`, ""].join("\n");
}

// A chart as a file of its own: colours of the theme in place of variables, on the paper of the page.
function svgFile(chart) {
  const style = getComputedStyle(document.documentElement), copy = chart.cloneNode(true), { width, height } = chart.viewBox.baseVal;
  copy.removeAttribute("class");
  Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, "font-size": "9px", "font-family": "system-ui, sans-serif", "stroke-linejoin": "round" })
    .forEach(([name, value]) => copy.setAttribute(name, value));
  all("text", copy).forEach((text) => text.setAttribute("fill", "var(--muted)"));
  copy.insertAdjacentHTML("afterbegin", '<rect width="100%" height="100%" style="fill: var(--paper)"/>');
  return new XMLSerializer().serializeToString(copy).replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

// A picture in three times the size of the chart.
async function pngFile(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 3 * image.width, height: 3 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done));
}

// Adds the button of a figure, which opens the menu; `svg` and `png` make its files.
const addFigureMenu = (() => {
  const menu = Object.assign(document.createElement("div"), { className: "figure-menu", popover: "auto" });
  let shown = null;
  const items = [
    ["Copy Python code", async (item) => { item.textContent = (await copyText(codeOf(shown.name))) ? "Copied" : "The browser does not allow to copy"; }],
    ["Save as SVG", async () => save(`${shown.name}.svg`, "image/svg+xml", [await shown.svg()])],
    ["Save as PNG", async () => save(`${shown.name}.png`, "image/png", [await shown.png()])],
  ].map(([label, work]) => {
    const item = Object.assign(document.createElement("button"), { type: "button", className: "plain" });
    item.addEventListener("click", () => work(item).then(() => { if (item.textContent === label) menu.hidePopover?.(); }));
    menu.append(item);
    return [item, label];
  });
  const WIDTH = 200;
  menu.style.width = `${WIDTH}px`;
  menu.addEventListener("beforetoggle", () => {
    const { left, bottom } = shown.button.getBoundingClientRect();
    menu.style.left = `${scrollX + Math.min(left, document.documentElement.clientWidth - WIDTH - 8)}px`;
    menu.style.top = `${scrollY + bottom + 4}px`;
  });
  document.body.append(menu);
  return (parent, figure) => {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "figure-more plain", textContent: "⋯", title: "Save this figure, or copy its code" });
    button.setAttribute("aria-label", button.title);
    button.popoverTargetElement = menu;
    button.addEventListener("click", () => {
      shown = { ...figure, button };
      items.forEach(([item, label]) => { item.textContent = label; });
    });
    parent.append(button);
  };
})();

all(".drawing").forEach((drawing) => {
  const svg = () => svgFile(drawing.querySelector("svg"));
  addFigureMenu(drawing, { name: drawing.id, svg, png: () => pngFile(svg()) });
});
