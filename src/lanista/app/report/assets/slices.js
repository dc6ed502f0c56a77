// Each hyper-parameter against a goal, trial by trial: the good values, and those that the search tried late.

const orderColour = (i) =>
    theme.ramp[trials.count > 1 ? Math.round((theme.ramp.length - 1) * i / (trials.count - 1)) : 11];

// Hyper-parameters of which the ranked trials have more than one value: those that mattered first.
const slicedColumns = (() => {
  const share = new Map((source.importance[0]?.singles ?? []).map((s, k) => [s.name, k]));
  const place = (c) => share.get(c.name) ?? Infinity;
  const varies = (c) => {
    const seen = new Set();
    for (const i of ranked)
      if (c.has(i)) seen.add(c.at(i));
    return seen.size > 1;
  };
  return trials.params.filter(varies)
      .map((c, k) => [c, k])
      .sort(([a, j], [b, k]) => place(a) - place(b) || j - k)
      .map(([c]) => c);
})();

// The positions of a column's values: numbers on their scale; names, and numbers of a column with few, each at its own
// position.
const kFewValues = 6;
function columnScale(column, rows, from, to) {
  const distinct = new Set(rows.map((i) => column.at(i)));
  if (!column.names && distinct.size > kFewValues) {
    const values = rows.map((i) => column.at(i)).filter(Number.isFinite);
    const lo = Math.min(...values), hi = Math.max(...values), log = column.log && lo > 0;
    const pad = log ? (hi / lo) ** 0.04 : (hi - lo) * 0.04;
    return log ? makeScale(lo / pad, hi * pad, from, to, true) : makeScale(lo - pad, hi + pad, from, to, false);
  }
  const known = Array.from(distinct).sort((a, b) => a - b);
  const step = (to - from) / known.length, places = new Map(known.map((v, k) => [v, from + (k + 0.5) * step]));
  return {
    at: (v) => places.get(v),
    names: known.map((v) => [places.get(v), column.names ? column.names[v] : short(v)]),
    step,
    ticks: []
  };
}

function drawNames(ctx, names, space, bottom) {
  ctx.fillStyle = theme.soft;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  // As many as there is room for.
  const every = Math.max(1, Math.ceil(26 / space));
  names.forEach(([at, text], k) => {
    if (k % every === 0) ctx.fillText(clip(ctx, text, space * every - 6), at, bottom + 7);
  });
}

function makeSlices() {
  const kMost = 12;
  const columns = slicedColumns.slice(0, kMost);
  if (columns.length === 0) return null;
  let goal = 0;
  const shown = (column) => ranked.filter((i) => column.has(i) && Number.isFinite(goalColumn(goal).at(i)) &&
                                                 (column.names || Number.isFinite(column.at(i))));

  function sliceOf(column) {
    let places = [];
    function paint(ctx, width, height) {
      places = [];
      const rows = shown(column), values = goalColumn(goal);
      const range = robustRange(rows.map((i) => values.at(i)), study.goals[goal].maximize);
      if (!range || rows.length === 0) return emptyChart(ctx, width, height, "No ranked trial has it.");
      const x = columnScale(column, rows, frame.left, width - frame.right);
      const y = robustScale(range, height - 26, frame.top);
      if (!range.log) y.ticks = linearTicks(range.lo, range.hi, 4);
      drawSliceAxes(ctx, width, height, x, y);
      // From the first to the last trial, so that late ones are on top; names are spread a little, by trial number.
      for (const i of rows.slice().sort((a, b) => a - b)) {
        const spread = x.names ? ((trials.id[i] * 0.618034) % 1 - 0.5) * Math.min(x.step * 0.5, 40) : 0;
        const px = x.at(column.at(i)) + spread, py = y.at(values.at(i));
        ctx.globalAlpha = state.visible[i] ? 0.9 : 0.08;
        ctx.fillStyle = orderColour(i);
        mark(ctx, kSucceeded, px, py, rows.length > 2000 ? 1.6 : 2.8);
        if (state.visible[i]) places.push([px, py, trials.id[i]]);
        if (trials.id[i] === state.selected) {
          ctx.globalAlpha = 1;
          ring(ctx, px, py);
        }
      }
      ctx.globalAlpha = 1;
    }
    const chart = new Chart(`${study.goals[goal].metric} over ${column.name}`, 168, {
      paint,
      pick: (px, py) => nearest(places, px, py, 12),
      describe: (id) => [...describeTrial(id), `${column.name} ${column.text(trials.rows.get(id))}`],
    });
    const few = ranked.filter((i) => column.has(i)).length;
    return {
      chart,
      node:
          el("figure", {class: "slice-plot"},
             el("figcaption", {}, isolated(column.name),
                few < ranked.length &&
                    el("span", {class: "count"}, ` · ${plural(few, "trial")} that ${few === 1 ? "has" : "have"} it`)),
             chart.node)
    };
  }

  const slices = columns.map(sliceOf);
  const update = () => slices.forEach(({chart}) => chart.draw());
  on("selection", update);
  on("filter", update);
  const rest = slicedColumns.length - columns.length;
  const ramp = el("div", {class: "ramp", "aria-hidden": "true"});
  return section(
      "slices", "Slices",
      "Each trial by the value of one hyper-parameter and its result; outliers are at the edge." +
          (rest > 0 ? ` The ${columns.length} that mattered most, of ${slicedColumns.length}.` : ""),
      el("div", {class: "controls"},
         study.goals.length > 1 &&
             dropdown(
                 "Goal", study.goals.map((g, k) => [k, g.metric]), 0,
                 (k) => {
                   goal = Number(k);
                   update();
                 }),
         el("span", {class: "ramp-key"}, "first trial", ramp, "last trial")),
      el("div", {class: "slice-grid"}, slices.map(({node}) => node)),
      dataTable(
          ["trial", study.goals[0].metric, ...columns.map((c) => c.name)],
          () => ranked.map(
              (i) =>
                  [trialLink(trials.id[i]), fixed(goalColumn(goal).at(i)),
                   ...columns.map((c) => isolated(c.text(i)))])));
}

function drawSliceAxes(ctx, width, height, x, y) {
  const bottom = height - 26;
  drawGrid(ctx, width, y);
  if (x.names) return drawNames(ctx, x.names, x.step, bottom);
  ctx.textBaseline = "top";
  ctx.textAlign = "center";
  const few = x.ticks.length > 6 ? x.ticks.filter((_, k) => k % 2 === 0) : x.ticks;
  for (const tick of few) ctx.fillText(tickText(tick), x.at(tick), bottom + 7);
}
