// Drawings of the best models, with the differences to the parent.

// Boxes, and arrows between them; `name` is unique on the page.
function layeredPicture(name, drawing, boxes) {
  const tip = `tip-${name}`;
  const root =
      svg("svg", {
        viewBox: `0 0 ${drawing.width} ${drawing.height}`,
        width: drawing.width,
        height: drawing.height,
        "aria-hidden": "true"
      },
          svg("defs", {},
              svg("marker",
                  {id: tip, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
                  svg("path", {d: "M0 0.5 L8 4 L0 7.5 z"}))));
  for (const path of drawing.paths) {
    const d = path.map(([x, y], k) => `${k ? "L" : "M"}${x} ${y}`).join(" ");
    root.append(svg("path", {class: "edge", d, "marker-end": `url(#${tip})`}));
  }
  for (const box of boxes) root.append(box);
  return root;
}

function makeArchitecture() {
  const drawings = new Map(source.models.map((model) => [model.trial, model]));
  if (drawings.size === 0) return null;
  let shown = source.models[0].trial;
  const holder = el("div", {
    class: "scroll drawing",
    tabindex: 0,
    role: "group",
    "aria-label": "Drawing of a model; the table below has its figures"
  });
  const picker = dropdown(
      "Model of trial",
      source.models.map((m) => [m.trial, `#${m.trial}, rank ${trials.rank[trials.rows.get(m.trial)] ?? "–"}`]), shown,
      (id) => select(Number(id)));
  const removed = el("div");

  function draw() {
    const model = drawings.get(shown);
    picker.querySelector("select").value = String(shown);
    if (model.error) {
      holder.replaceChildren(el("p", {class: "caption"}, isolated(model.error)));
      removed.replaceChildren();
      return;
    }
    holder.replaceChildren(layeredPicture("model", model, model.nodes.map(nodeBox)));
    removed.replaceChildren(...(
        model.removed.length ?
            [
              el("h3", {}, "Removed from the parent"),
              el("ul", {class: "removed"}, model.removed.map((text) => el("li", {}, el("code", {}, isolated(text)))))
            ] :
            []));
  }


  function nodeBox(node) {
    const [x, y] = node.at;
    const fit = (text) => {
      const most = Math.floor((node.w - 16) / 6.6);
      return text.length > most ? `${text.slice(0, most - 1)}…` : text;
    };
    const words = [node.label && `"${node.label}"`, node.attrs, node.shape, node.note].filter((t) => t).join("\n");
    return svg(
        "g", {class: `node ${node.change}`}, svg("title", {}, `%${node.id} ${node.op}\n${words}`),
        svg("rect", {x: x - node.w / 2, y: y - node.h / 2, width: node.w, height: node.h, rx: 5}),
        svg("text", {x, y: y - 5, class: "op"}, `${changeSign(node.change)}${fit(node.op)}`),
        svg("text", {x, y: y + 12, class: "attrs"}, fit(node.attrs || node.shape)));
  }

  on("selection", () => {
    if (!drawings.has(state.selected) || shown === state.selected) return;
    shown = state.selected;
    draw();
  });
  draw();
  const sample = (change, text) =>
      el("li", {}, el("span", {class: `swatch ${change}`}, changeSign(change).trim() || "\u00a0"), text);
  return section(
      "model", "Model",
      "The best model, compared with its parent or its base. Select another of the best ten to draw it.",
      el("div", {class: "controls"}, source.models.length > 1 && picker,
         el("ul", {class: "legend"}, sample("same", "as in the parent"), sample("added", "added"),
            sample("changed", "changed"))),
      holder, removed,
      dataTable(
          ["node", "operation", "attributes", "output", "against the parent"],
          () => (drawings.get(shown).nodes ?? [])
                    .map((n) => [`%${n.id}`, isolated(n.label ? `${n.op} "${n.label}"` : n.op), n.attrs, n.shape, [
                           n.change, n.note
                         ].filter((t) => t).join(": ")])));
}

function changeSign(change) {
  return {added: "+ ", changed: "~ "}[change] ?? "";
}
