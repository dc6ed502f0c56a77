// Two or three trials side by side: settings with differences, their curves in one chart, and their edits.

function makeSide() {
  const node = el("div", {id: "side", "aria-live": "polite"});
  let metric = 0;

  const rowsOf = () => state.compared.map((id) => trials.rows.get(id)).filter((i) => i !== undefined);
  const names = () => rowsOf().map((i) => `#${trials.id[i]}`);

  // Lines of the table: [name, one text a trial].
  function lines(rows) {
    const of = (name, text) => [name, rows.map(text)];
    const value = (column, format) =>
        of(column.name, (i) => column.has(i) ? (column.names ? column.text(i) : format(column.at(i))) : "");
    const used = (column) => rows.some((i) => column.has(i));
    return [
      of("rank", (i) => trials.rank[i] ? String(trials.rank[i]) : ""),
      of("state", stateName),
      ...trials.metrics.filter(used).map((m) => value(m, fixed)),
      ...trials.params.filter(used).map((p) => value(p, short)),
      of("base", baseName),
      of("how it was made", (i) => trials.how.text(i)),
      of("parent", (i) => trials.parent[i] ? `#${trials.parent[i]}` : ""),
      of("parameters", (i) => short(trials.parameters[i])),
      of("epochs", (i) => `${trials.epochs[i]} of ${trials.budget[i]}`),
      of("steps", (i) => short(trials.steps[i])),
    ].filter(([, texts]) => texts.some((text) => text !== ""));
  }

  function differences(rows) {
    return el(
        "div", {class: "scroll"},
        el("table", {class: "plain-table side-table"},
           el("thead", {},
              el("tr", {}, el("th", {scope: "col"}, ""),
                 rows.map((i, k) => el("th", {scope: "col"}, swatch(k), " ", trialLink(trials.id[i]))))),
           el("tbody", {}, lines(rows).map(([name, texts]) => {
             const differs = texts.some((text) => text !== texts[0]);
             return el(
                 "tr", {class: differs ? "differs" : null},
                 el("th", {scope: "row"}, differs && el("span", {title: "differs"}, "≠ "), isolated(name)),
                 texts.map((text) => el("td", {class: "words"}, text === "" ? "–" : isolated(text))));
           }))));
  }

  const series = () => rowsOf().filter((i) => curves.has(trials.id[i])).map((i) => {
    const curve = curves.get(trials.id[i]);
    return {name: `#${trials.id[i]}`, epochs: curve.epochs, values: curve.values[metric], kept: trials.kept[i]};
  });
  const metrics = trials.metrics.map((m) => m.name);
  const better = (name) => study.goals.find((g) => g.metric === name)?.maximize ?? !name.includes("loss");
  const chart = new EpochChart(
      "Curves of the trials that are compared", 240, better, () => ({name: metrics[metric], all: series()}));

  function edits(rows) {
    return el("div", {class: "side-edits"}, rows.map((i) => {
      const of = source.edits[trials.id[i]];
      return el(
          "div", {}, el("h3", {}, `#${trials.id[i]}: edits to its ${trials.parent[i] ? "parent" : "base"}`),
          of ? el("ul", {class: "edits"}, of.map((text) => el("li", {}, el("code", {}, isolated(text))))) :
               el("p", {class: "caption"}, trials.how.text(i) === "" ? "None." : "This page does not contain them."));
    }));
  }

  function show() {
    const rows = rowsOf();
    node.hidden = rows.length < 2;
    if (node.hidden) return node.replaceChildren();
    node.replaceChildren(
        el("div", {class: "controls side-head"}, el("h3", {}, `Side by side: ${names().join(", ")}`),
           el("button", {type: "button", class: "plain", click: () => compareTrials([])}, "Close")),
        differences(rows),
        el("div", {class: "controls"},
           dropdown(
               "Curve", metrics.map((name, k) => [k, name]), metric,
               (k) => {
                 metric = Number(k);
                 chart.draw();
               })),
        chart.node, seriesLegend(names()),
        dataTable(
            ["trial", "epoch", "value"],
            () => series().flatMap(
                (one) => Array.from(one.epochs, (epoch, k) => [one.name, epoch, fixed(one.values[k])]))),
        edits(rows));
    chart.draw();
  }
  on("compared", show);
  show();
  return node;
}
