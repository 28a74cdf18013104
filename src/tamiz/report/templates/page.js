const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const json = (id) => JSON.parse(byId(id).textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const counted = (n) => n.toLocaleString("en");
const formatNumber = (value) =>
  value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9) ? value.toExponential(3) : plain.format(value);

// Seconds since 1970 as a day, and with the time of day where there is one.
const moment = (seconds) => new Date(1000 * seconds).toISOString().replace(/T00:00:00\.000Z$/, "").replace("T", " ").replace(/(\.000)?Z$/, "");
const day = (seconds) => moment(seconds).slice(0, 10);

// What the table of columns asks of the maps, where there are maps.
let onMap = null;

// ---- compressed data of the page

async function unpacked(id, type) {
  const text = atob(byId(id).textContent);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Blob([await new Response(stream).arrayBuffer()], { type });
}

// The numbers of the report, unpacked once; of many rows, each list of values is unpacked when it is first read.
let numbers = null;
function result() {
  numbers ??= Promise.all([unpacked("numbers", "application/json").then((blob) => blob.text()), byId("packed") && unpacked("packed", "").then((blob) => blob.arrayBuffer())])
    .then(([text, packed]) => (packed ? restored(JSON.parse(text), new Uint8Array(packed)) : JSON.parse(text)));
  return numbers;
}
function restored(numbers, bytes) {
  const types = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array, f8: Float64Array };
  const raw = ({ packed, at, n }) => {
    const Type = types[packed], size = Type.BYTES_PER_ELEMENT, own = new Uint8Array(n * size);
    for (let part = 0; part < size; part++) for (let i = 0; i < n; i++) own[i * size + part] = bytes[at + part * n + i];
    return new Type(own.buffer);
  };
  const list = (one) => {
    let row = 0;
    if (one.steps) return Array.from(raw(one), (code) => (row += one.table[code]));
    if (one.table) return Array.from(raw(one), (code) => one.table[code] ?? null);
    return Array.from(raw(one), (value) => (Number.isNaN(value) ? null : one.packed === "f4" ? Number(value.toPrecision(6)) : value));
  };
  // A coordinate has the digits of the steps.
  const axis = (one) => {
    if (one.low === undefined) return Float64Array.from(raw(one), (value) => Number(value.toPrecision(6)));
    const scale = 10 ** Math.ceil(Math.log10(65536 / one.width));
    return Float64Array.from(raw(one), (code) => Math.round((one.low + (code / 65535) * one.width) * scale) / scale);
  };
  const later = (owner, name, make, enumerable = true) => Object.defineProperty(owner, name, {
    configurable: true, enumerable, get() { const value = make(); Object.defineProperty(owner, name, { value, enumerable }); return value; },
  });
  const replace = (owner, name) => { const one = owner[name]; if (one?.packed) later(owner, name, () => list(one)); };
  for (const map of numbers.maps) {
    const axes = map.points?.packed;
    if (!axes) continue;
    replace(map, "rows");
    later(map, "places", () => axes.map(axis), false);
    later(map, "points", () => Array.from(map.places[0], (_, i) => map.places.map((values) => values[i])));
  }
  numbers.colors.forEach((color) => replace(color, "values"));
  for (const one of numbers.quality?.maps ?? []) if (one) ["trust", "stress"].forEach((name) => replace(one, name));
  return numbers;
}

// ---- files to save

function save(name, type, parts) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Copies text, and returns whether the browser allowed it: to pages on disk some deny the clipboard.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    // Deprecated, and the only way there is without a secure origin.
    let copied = false;
    try { copied = document.execCommand("copy"); } catch { copied = false; }
    area.remove();
    return copied;
  }
}

// A cell that begins like a formula would be executed by a spreadsheet.
function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const inert = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

// ---- the reader's choice of columns: initially those recommended

const chosen = (() => {
  const { columns, kept: first } = json("columns-chosen");
  const kept = new Set(first), listeners = [];
  const notify = () => listeners.forEach((listener) => listener());
  return {
    has: (name) => kept.has(name),
    names: () => columns.filter((name) => kept.has(name)),
    others: () => columns.filter((name) => !kept.has(name)),
    set(names) { kept.clear(); for (const name of names) kept.add(name); notify(); },
    toggle(name, on) { if (on) kept.add(name); else kept.delete(name); notify(); },
    listen(listener) { listeners.push(listener); },
  };
})();

// ---- a folded section opens where a link leads to it or into it

const unfold = () => {
  // The state of the page may follow the section.
  const target = location.hash.length > 1 && byId(location.hash.slice(1).split("&")[0]);
  const folded = target && target.closest("details.folded");
  if (folded && !folded.open) { folded.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", unfold);
unfold();

// ---- the bar of sections

const links = new Map(all(".bar a").map((a) => [a.hash.slice(1), a]));
const marks = [...links.keys()].map(byId);
const tabs = document.querySelector(".bar ul");
let waiting = false, marked = null;
const mark = () => {
  waiting = false;
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  const now = atEnd ? marks.at(-1) : marks.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3);
  links.forEach((a, id) => (id === now?.id ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current")));
  if (now === marked) return;
  marked = now;
  // On a narrow page the bar scrolls too: the marked section is brought to its centre.
  const tab = links.get(now?.id)?.getBoundingClientRect(), bar = tabs.getBoundingClientRect();
  tabs.scrollLeft += tab ? tab.left + tab.width / 2 - (bar.left + bar.width / 2) : -tabs.scrollLeft;
};
addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
mark();
