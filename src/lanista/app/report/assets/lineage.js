// The lineage as an outline: one row a trial, children below their parent.

function makeLineage() {
  const kIndent = 22, kTallRow = 22, kMostHeight = 640, kFamilies = 30;
  let all = false, rows = [], rowHeight = kTallRow;
  const children = new Map();
  for (let i = 0; i < trials.count; ++i) {
    const parent = trials.rows.get(trials.parent[i]);
    const key = parent === undefined || parent >= i ? -1 : parent;
    if (!children.has(key)) children.set(key, []);
    children.get(key).push(i);
  }
  const parentRow = (i) => {
    const parent = trials.rows.get(trials.parent[i]);
    return parent === undefined || parent >= i ? undefined : parent;
  };

  // The best trials with all their ancestors, or everything.
  function wanted() {
    const keep = new Uint8Array(trials.count).fill(all ? 1 : 0);
    if (all) return keep;
    const seeds = ranked.slice(0, kFamilies);
    const chosen = trials.rows.get(state.selected);
    if (chosen !== undefined) seeds.push(chosen);
    for (const seed of seeds)
      for (let i = seed; i !== undefined && !keep[i]; i = parentRow(i)) keep[i] = 1;
    return keep;
  }

  function arrange() {
    const keep = wanted();
    rows = [];
    const best = (i) => trials.rank[i] || Infinity;
    const kids = (i) => (children.get(i) ?? []).filter((k) => keep[k]).sort((a, b) => best(a) - best(b) || a - b);
    const stack = kids(-1).reverse().map((i) => [i, 0, -1]);
    while (stack.length) {
      const [i, depth, parent] = stack.pop();
      const at = rows.push({i, depth, parent}) - 1;
      for (const kid of kids(i).reverse()) stack.push([kid, depth + 1, at]);
    }
    rowHeight = Math.min(kTallRow, Math.max(0.02, kMostHeight / Math.max(1, rows.length)));
    if (rows.length <= 80) rowHeight = kTallRow;
  }

  const gain = (i) => {
    const parent = parentRow(i), column = goalColumn(0);
    if (parent === undefined || !column.has(i) || !column.has(parent)) return null;
    const difference = column.at(i) - column.at(parent);
    return Number.isFinite(difference) ? difference : null;
  };
  const gainText = (difference) =>
      (difference === null ? "" : `${difference >= 0 ? "+" : "−"}${fixed(Math.abs(difference))}`);
  const centre = (k) => [14 + Math.min(rows[k].depth, 24) * kIndent, (k + 0.5) * rowHeight];

  function family() {
    const out = new Set();
    for (let i = trials.rows.get(state.selected); i !== undefined; i = parentRow(i)) out.add(i);
    return out;
  }

  function paint(ctx, width) {
    if (rows.length === 0) return emptyChart(ctx, width, 60, "No trial yet.");
    const line_ = family(), column = goalColumn(0);
    for (const emphasised of [false, true]) {
      ctx.strokeStyle = emphasised ? theme.ink : theme.rule;
      ctx.lineWidth = emphasised ? 2 : 1;
      ctx.beginPath();
      rows.forEach((row, k) => {
        if (row.parent < 0 || line_.has(row.i) !== emphasised) return;
        const [x, y] = centre(k), [px, py] = centre(row.parent);
        ctx.moveTo(px, py);
        ctx.lineTo(px, y);
        ctx.lineTo(x, y);
      });
      ctx.stroke();
    }
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    rows.forEach(({i}, k) => {
      const [x, y] = centre(k);
      ctx.globalAlpha = state.visible[i] ? 1 : 0.25;
      ctx.fillStyle = ctx.strokeStyle = theme.stateColours[trials.state[i]];
      ctx.lineWidth = 1.5;
      mark(ctx, trials.state[i], x, y, rowHeight < 8 ? 1.5 : 4);
      if (trials.id[i] === state.selected) ring(ctx, x, y);
      if (rowHeight < 14) return;
      let at = x + 14;
      const put = (text, colour) => {
        if (!text) return;
        ctx.fillStyle = colour;
        const shown = clip(ctx, text, width - at - 8);
        ctx.fillText(shown, at, y);
        at += ctx.measureText(shown).width + 10;
      };
      put(`#${trials.id[i]}`, theme.ink);
      put(column.has(i) ? fixed(column.at(i)) : stateName(i), theme.ink);
      const difference = gain(i);
      put(gainText(difference), difference !== null && better(0, difference, 0) ? theme.good : theme.soft);
      put((parentRow(i) === undefined ? [baseName(i), trials.how.text(i)].filter((t) => t).join(" > ") :
                                        trials.how.text(i)) ||
              "same model",
          theme.soft);
    });
    ctx.globalAlpha = 1;
  }

  arrange();
  const chart = new Chart(
      "Lineage of trials. Arrow keys step through it.", () => Math.max(60, Math.ceil(rows.length * rowHeight) + 4), {
        paint,
        pick: (x, y) => {
          const k = Math.floor(y / rowHeight);
          if (k < 0 || k >= rows.length) return 0;
          return x >= centre(k)[0] - 12 ? trials.id[rows[k].i] : 0;
        },
        step: stepThrough(() => rows.map((row) => trials.id[row.i])),
      });
  const update = () => {
    arrange();
    chart.draw();
  };
  on("selection", update);
  on("filter", () => chart.draw());
  const switchable = trials.count > kFamilies &&
      choices("Show", [["best", `the best ${kFamilies} and their ancestors`], ["all", "all trials"]], "best",
              (value) => {
                all = value === "all";
                update();
              });
  return section(
      "lineage", "Lineage",
      `The change of each trial to its parent, and the gain in ${
          study.goals[0].metric}. The lineage of the selected trial is bold.`,
      el("div", {class: "controls"}, switchable), chart.node,
      dataTable(
          ["trial", "parent", "change", "gain"],
          () => rows.map(
              ({i}) =>
                  [trialLink(trials.id[i]), trials.parent[i] ? trialLink(trials.parent[i]) : baseName(i),
                   trials.how.text(i), gainText(gain(i))])));
}
