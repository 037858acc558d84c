"use strict";
// Names come from the model: everything is shown as text, nothing is read as HTML. What is closed is not made yet.
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes.map(([name, type, fate, inputs], id) => ({
  kind: "node", id, name, type, fate, inputs, scope: name.split("/").slice(0, -1), label: name.split("/").pop(), bytes: 0,
}));
const ops = data.ops.map(([subgraph, index, type, layer, bytes, fusions, sources, reads, results], id) => ({
  kind: "op", id, subgraph, index, type, layer, bytes, fusions, sources, reads, results, label: type,
  scope: [...(data.subgraphs.length > 1 ? [data.subgraphs[subgraph] || `subgraph ${subgraph}`] : []), ...split(layer)],
}));
const records = data.records.map(([kind, rule, sources, emitted, why]) => ({ kind, rule, sources, emitted, why }));
const MANY = 200;

function split(path) { return path ? path.split("/") : []; }

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function counted(count, what) { return `${count} ${what}${count === 1 ? "" : "s"}`; }

// A name as text that may be broken into lines behind each "/" and "_".
function broken(text) {
  return text.split(/(?<=[/_])/).flatMap((part) => [part, document.createElement("wbr")]);
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const unit = bytes < 999950 ? [1e3, "kB"] : bytes < 999950000 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(bytes / unit[0]).toFixed(1)} ${unit[1]}`;
}

// Which of the others refer to each: made when it is first asked for.
function inverse(items, key, count) {
  let found = null;
  return (id) => {
    if (!found) {
      found = Array.from({ length: count }, () => []);
      items.forEach((item, place) => item[key].forEach((other) => found[other].push(place)));
    }
    return found[id];
  };
}
const opsOfNode = inverse(ops, "sources", nodes.length);
const readersOfNode = inverse(nodes, "inputs", nodes.length);
const readersOfOp = inverse(ops, "reads", ops.length);
const recordsOfNode = inverse(records, "sources", nodes.length);

function link(item) {
  const text = item.kind === "op" ? `${item.type} #${item.index}` : item.name;
  return make("a", { href: `#${item.kind}-${item.id}` }, ...broken(text));
}

// A list of links, the first ones only until more are asked for.
function links(items) {
  const place = make("span", { className: "links" });
  grow(place, items, link);
  return place;
}

function grow(place, items, draw, start = 0) {
  place.append(...items.slice(start, start + MANY).map(draw));
  const left = items.length - start - MANY;
  if (left > 0) {
    const more = make("button", { type: "button", textContent: `${left} more` });
    more.addEventListener("click", () => { more.remove(); grow(place, items, draw, start + MANY); });
    place.append(more);
  }
}

function row(title, ...content) {
  return make("div", {}, make("span", { className: "quiet", textContent: `${title} ` }), ...content);
}

function details(summary, fill, className = "") {
  const inside = make("div", { className: "inside" });
  const element = make("details", { className }, summary, inside);
  element.fill = () => { if (!inside.childNodes.length) inside.append(...fill()); };
  element.addEventListener("toggle", () => { if (element.open) element.fill(); });
  return element;
}

function opDetails(op) {
  const found = [row("makes", make("code", {}, ...broken(op.results)))];
  if (op.fusions.length) found.push(row("fused by", op.fusions.join(", ")));
  if (op.reads.length) found.push(row("reads", links(op.reads.map((id) => ops[id]))));
  const readers = readersOfOp(op.id);
  if (readers.length) found.push(row("read by", links(readers.map((id) => ops[id]))));
  found.push(row(`stands for ${counted(op.sources.length, "node")}`, links(op.sources.map((id) => nodes[id]))));
  return found;
}

function nodeDetails(node) {
  const found = [row("became", node.fate || "-")];
  const into = opsOfNode(node.id);
  if (into.length) found.push(row("part of", links(into.map((id) => ops[id]))));
  for (const place of recordsOfNode(node.id)) {
    const { kind, rule, emitted, why } = records[place];
    found.push(row(`${kind} by`, `${rule}${emitted && ` → ${emitted}`}${why && `: ${why}`}`));
  }
  if (node.inputs.length) found.push(row("reads", links(node.inputs.map((id) => nodes[id]))));
  const readers = readersOfNode(node.id);
  if (readers.length) found.push(row("read by", links(readers.map((id) => nodes[id]))));
  return found;
}

function drawItem(item) {
  const quiet = item.kind === "op" ? `#${item.index}` : item.type;
  const summary = make("summary", {}, ...broken(item.label), " ", make("span", { className: "quiet", textContent: quiet }));
  if (item.bytes) summary.append(" ", make("span", { className: "n", textContent: size(item.bytes) }));
  if (item.fate) {
    const color = { unsupported: "bad", fused: "good" }[item.fate] || "quiet";
    summary.append(" ", make("span", { className: color, textContent: item.fate }));
  }
  const element = details(summary, () => (item.kind === "op" ? opDetails(item) : nodeDetails(item)), "item");
  element.id = `${item.kind}-${item.id}`;
  return element;
}

// A branch of a tree: the branches in it by their names, and its own items.
function branch() { return { parts: new Map(), items: [], count: 0, bytes: 0 }; }

function grown(items) {
  const root = branch();
  for (const item of items) {
    let at = root;
    for (const part of [null, ...item.scope]) {
      if (part !== null) {
        if (!at.parts.has(part)) at.parts.set(part, branch());
        at = at.parts.get(part);
      }
      at.count += 1;
      at.bytes += item.bytes;
    }
    at.items.push(item);
  }
  return root;
}

// A layer with nothing in it but one other is drawn as one: "net/block/conv".
function joined(name, at) {
  while (!at.items.length && at.parts.size === 1) {
    const [[part, inner]] = at.parts;
    [name, at] = [`${name}/${part}`, inner];
  }
  return [name, at];
}

// Draws what is in a branch; where that is much, as ranges of which each is drawn when it is opened.
function drawInside(place, at) {
  const branches = [...at.parts].map(([name, inner]) => joined(name, inner));
  const parts = [
    ...branches.map(([name, inner]) => ({ name, holds: (item) => holds(inner, item), draw: () => drawBranch(name, inner) })),
    ...at.items.map((item) => ({ name: item.label, holds: (other) => other === item, draw: () => drawItem(item) })),
  ];
  if (parts.length <= MANY) {
    place.append(...parts.map(drawPart));
    return;
  }
  for (let start = 0; start < parts.length; start += MANY) place.append(drawRange(parts.slice(start, start + MANY)));
}

function drawPart(part) { return Object.assign(part.draw(), { holds: part.holds }); }

function drawRange(parts) {
  const summary = make("summary", {}, ...broken(`${parts[0].name} … ${parts[parts.length - 1].name}`));
  const element = details(summary, () => [make("div", {}, ...parts.map(drawPart))]);
  return Object.assign(element, { holds: (item) => parts.some((part) => part.holds(item)) });
}

function drawBranch(name, at) {
  const told = `${at.count}${at.bytes ? ` · ${size(at.bytes)}` : ""}`;
  const summary = make("summary", {}, ...broken(name), " ", make("span", { className: "quiet", textContent: told }));
  return details(summary, () => { const place = make("div", {}); drawInside(place, at); return [place]; });
}

const trees = {
  op: { place: document.getElementById("ops"), items: ops, root: grown(ops) },
  node: { place: document.getElementById("nodes"), items: nodes, root: grown(nodes) },
};
for (const item of ops) item.text = `${item.type} ${item.layer} ${item.results} ${item.fusions.join(" ")}`.toLowerCase();
for (const item of nodes) item.text = `${item.name} ${item.type} ${item.fate}`.toLowerCase();

function draw(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  for (const { place, items, root } of Object.values(trees)) {
    place.replaceChildren();
    if (!words.length) {
      drawInside(place, root);
      if (place.children.length === 1) place.firstChild.open = true;
      continue;
    }
    const found = items.filter((item) => words.every((word) => item.text.includes(word)));
    place.append(make("p", { className: "quiet", textContent: `${found.length} found` }));
    grow(place, found, (item) => {
      const element = drawItem(item);
      element.firstChild.prepend(make("span", { className: "quiet", textContent: item.scope.map((s) => `${s}/`).join("") }));
      return element;
    });
  }
}

// Opens the layers around an item and returns its element.
function reveal(item) {
  const id = `${item.kind}-${item.id}`;
  let { place } = trees[item.kind];
  for (;;) {
    const next = [...place.children].find((child) => child.holds(item));
    if (next.id === id) return next;
    next.open = true;
    next.fill();
    place = next.querySelector(".inside > div");
  }
}

function holds(at, item) {
  let inner = trees[item.kind].root;
  return item.scope.some((part) => (inner = inner.parts.get(part)) === at);
}

function follow() {
  const [kind, id] = location.hash.slice(1).split("-");
  const item = kind === "op" ? ops[id] : kind === "node" ? nodes[id] : undefined;
  if (!item) return;
  const search = document.getElementById("search");
  if (search.value) { search.value = ""; draw(""); }
  document.querySelectorAll(".item.shown").forEach((element) => element.classList.remove("shown"));
  const element = reveal(item);
  element.classList.add("shown");
  element.open = true;
  element.fill();
  element.scrollIntoView({ block: "center" });
}

// What the page's sections refer to is drawn when it is opened.
function drawRecord(place) {
  const { rule, sources, emitted, why } = records[place];
  const title = sources.length ? nodes[sources[0]].name : rule;
  const summary = make("summary", {}, ...broken(title), " ", make("span", { className: "quiet", textContent: counted(sources.length, "node") }));
  return details(summary, () => {
    const made = [...new Set(sources.flatMap(opsOfNode))].filter((id) => emitted.includes(ops[id].type));
    return [
      ...(made.length ? [row("into", links(made.map((id) => ops[id])))] : []),
      ...(why ? [row("", why)] : []), row("from", links(sources.map((id) => nodes[id]))),
    ];
  });
}

function lazily(key, fill) {
  for (const element of document.querySelectorAll(`details[data-${key}]`)) {
    element.addEventListener("toggle", () => {
      if (element.childElementCount > 1) return;
      const inside = make("div", { className: "inside" });
      element.append(inside);
      fill(inside, element.dataset[key].split(" ").map(Number));
    });
  }
}
lazily("records", (inside, places) => grow(inside, places, drawRecord));
lazily("layers", (inside) => grow(inside, data.layers, ([layer, count, bytes]) => {
  const told = `${counted(count, "op")}, ${size(bytes)}`;
  return make("div", {}, ...broken(layer || "(none)"), " ", make("span", { className: "quiet", textContent: told }));
}));
lazily("ops", (inside, places) => inside.append(links(places.map((id) => ops[id]))));

let waiting = 0;
document.getElementById("search").addEventListener("input", (event) => {
  clearTimeout(waiting);
  waiting = setTimeout(() => draw(event.target.value), 80);
});
addEventListener("hashchange", follow);
// A link to where one is already changes nothing, but asks for it again.
addEventListener("click", (event) => { if (event.target.hash && event.target.hash === location.hash) follow(); });
draw("");
follow();
