// ---- what a reader has chosen, as a part of the address: "Copy link" writes it, and a page that is opened with it restores it

{
  // The controls by their place in the address.
  const controls = {
    colour: document.querySelector("#colours select"), find: document.querySelector("#columns-tools input"), show: byId("column-states"),
    rank: byId("column-scores"), rows: document.querySelector("#pick input"),
  };
  const first = new Map(Object.entries(controls).map(([name, control]) => [name, control?.value]));
  const openMap = () => document.querySelector(".map[open]")?.id;
  const map = openMap(), kept = chosen.names().join("\n");

  const written = () => {
    const state = new URLSearchParams();
    for (const [name, control] of Object.entries(controls)) if (control && control.value !== first.get(name)) state.set(name, control.value);
    if (openMap() !== map) state.set("map", openMap() ?? "");
    if (chosen.names().join("\n") !== kept) state.set("keep", JSON.stringify(chosen.names()));
    const section = document.querySelector(".bar [aria-current]")?.hash.slice(1) ?? "";
    return `#${section}${[...state].length ? `&${state}` : ""}`;
  };
  const restore = () => {
    const [section, ...rest] = location.hash.slice(1).split("&"), state = new URLSearchParams(rest.join("&"));
    if (!rest.length) return;
    for (const [name, control] of Object.entries(controls)) {
      if (!control || !state.has(name)) continue;
      control.value = state.get(name);
      for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
    }
    if (state.has("map")) all(".map").forEach((one) => { one.open = one.id === state.get("map"); });
    if (state.has("keep")) {
      let names = null;
      try { names = JSON.parse(state.get("keep")); } catch { names = null; }
      const known = new Set([...chosen.names(), ...chosen.others()]);
      if (Array.isArray(names)) chosen.set(names.filter((name) => known.has(name)));
    }
    byId(section)?.scrollIntoView();
  };

  if (byId("takeaway")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", id: "copy-link", textContent: "Copy a link to this view" });
    button.addEventListener("click", async () => {
      history.replaceState(null, "", written());
      button.textContent = (await copyText(location.href)) ? "Copied" : "The address has the view";
    });
    byId("takeaway").append(button);
  }
  addEventListener("load", restore);
}
