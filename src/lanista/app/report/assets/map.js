// Two decisions together: the prediction of the forest for each pair of values, averaged over all other decisions, and
// the trials as points.

function makeMap() {
  const unpacked = source.importance.map((of) => of.maps && {
    metric: of.metric,
    maximize: of.maximize,
    epoch: of.epoch,
    explained: of.explained,
    rows: Array.from(integers(of.maps.trial, of.maps.count)),
    values: reals(of.maps.values, of.maps.count).values,
    axes: of.maps.axes.map(
        (axis) => ({...axis, places: reals(axis.places, of.maps.count).values, weights: axis.weights.map(Number)})),
    maps: of.maps.maps,
  });
  let goal = unpacked.findIndex((of) => of);
  if (goal < 0) return null;
  let across = 0, up = 1, places = [];
  const caption = el("p", {class: "caption after"});

  // Predictions [across][up], or NaN.
  function grid() {
    const of = unpacked[goal], [a, b] = across < up ? [across, up] : [up, across];
    const map = of.maps.find((m) => m.first === a && m.second === b);
    const rows = of.axes[a].weights.length, columns = of.axes[b].weights.length;
    const means = reals(map.means, rows * columns).values;
    const at = (i, j) => across < up ? means[i * columns + j] : means[j * columns + i];
    return Array.from({length: of.axes[across].weights.length},
                      (_, i) => Array.from({length: of.axes[up].weights.length}, (_, j) => at(i, j)));
  }

  function edges(axis, from, to) {
    const out = [from];
    let sum = 0;
    for (const weight of axis.weights) out.push(from + (sum += weight) * (to - from));
    return out;
  }

  const nameOf = (axis) => axis.name + (axis.range?.own ? ", percent of its own range" : "");

  // The index of the cell that contains a position.
  function widthAt(axis, place) {
    let from = 0;
    return axis.weights.find((weight) => (from += weight) > place) ?? 0;
  }

  function shade(value, lo, hi) {
    const part = hi > lo ? (value - lo) / (hi - lo) : 0.5;
    return theme.ramp[Math.round(
        (theme.ramp.length - 1) * Math.max(0, Math.min(1, unpacked[goal].maximize ? part : 1 - part)))];
  }

  function paint(ctx, width, height) {
    places = [];
    const of = unpacked[goal], cells = grid(), left = 74, bottom = height - frame.bottom;
    const known = cells.flat().filter(Number.isFinite), lo = Math.min(...known), hi = Math.max(...known);
    const xs = edges(of.axes[across], left, width - frame.right), ys = edges(of.axes[up], bottom, frame.top);
    cells.forEach((column, i) => column.forEach((value, j) => {
      if (!Number.isFinite(value)) return;
      ctx.fillStyle = shade(value, lo, hi);
      // Slightly larger, so that no gaps show between cells.
      ctx.fillRect(xs[i], ys[j + 1], xs[i + 1] - xs[i] + 0.6, ys[j] - ys[j + 1] + 0.6);
    }));
    drawMapAxis(ctx, of.axes[across], xs, (at, text, space) => {
      ctx.textAlign = "center";
      ctx.textBaseline = "top";
      ctx.fillText(clip(ctx, text, space), at, bottom + 7);
    }, 46);
    drawMapAxis(ctx, of.axes[up], ys, (at, text) => {
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      ctx.fillText(clip(ctx, text, left - 10), left - 8, at);
    }, 22);
    ctx.fillStyle = theme.ink;
    ctx.textBaseline = "top";
    ctx.textAlign = "right";
    ctx.fillText(clip(ctx, nameOf(of.axes[across]), width * 0.7), width - frame.right, bottom + 23);
    ctx.textAlign = "left";
    ctx.fillText(clip(ctx, nameOf(of.axes[up]), width * 0.7), 6, 0);
    drawPoints(ctx, of, xs, ys, lo, hi);
  }

  function drawPoints(ctx, of, xs, ys, lo, hi) {
    const from = [xs[0], ys[0]], to = [xs[xs.length - 1], ys[ys.length - 1]];
    of.rows.forEach((id, k) => {
      const [a, b] = [of.axes[across].places[k], of.axes[up].places[k]], row = trials.rows.get(id);
      if (Number.isNaN(a) || Number.isNaN(b)) return;
      // Trials in one cell of names or whole numbers are spread around its middle.
      const spread = (axis, place, turn) => axis.range ? 0 : ((id * turn) % 1 - 0.5) * 0.6 * widthAt(axis, place);
      const x = from[0] + (a + spread(of.axes[across], a, 0.618034)) * (to[0] - from[0]);
      const y = from[1] + (b + spread(of.axes[up], b, 0.754878)) * (to[1] - from[1]);
      ctx.globalAlpha = row === undefined || state.visible[row] ? 1 : 0.15;
      ctx.fillStyle = shade(of.values[k], lo, hi);
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.arc(x, y, of.rows.length > 400 ? 2.2 : 3.5, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
      if (id === state.selected) ring(ctx, x, y);
      if (row !== undefined && state.visible[row]) places.push([x, y, id]);
    });
    ctx.globalAlpha = 1;
  }

  const byRank = () => ranked.map((i) => trials.id[i]).filter((id) => unpacked[goal].rows.includes(id));
  const chart = new Chart(
      "Predicted goal over two decisions, with the trials. Arrow keys step through trials from best to worst.", 340, {
        paint,
        pick: (px, py) => nearest(places, px, py, 12),
        step: stepThrough(byRank),
        describe: (id) => {
          const of = unpacked[goal], k = of.rows.indexOf(id);
          return [`#${id}`, `${of.metric} ${fixed(of.values[k])} at epoch ${of.epoch}`];
        },
      });

  // Each axis can be chosen freely. The choice of the other axis swaps the two.
  const chooser = (label, set) => dropdown(label, [], null, (k) => {
    const before = [across, up];
    set(Number(k));
    if (across === up) [across, up] = [before[1], before[0]];
    show();
  });
  const choosers = [chooser("Across", (k) => across = k), chooser("Up", (k) => up = k)];

  function offer() {
    for (const node of choosers)
      node.querySelector("select").replaceChildren(
          ...unpacked[goal].axes.map((axis, k) => el("option", {value: k}, axis.name)));
  }

  function show() {
    choosers.forEach((node, k) => node.querySelector("select").value = String(k === 0 ? across : up));
    const of = unpacked[goal], known = grid().flat().filter(Number.isFinite);
    caption.textContent =
        `Predicted ${of.metric} at epoch ${of.epoch}: ${fixed(Math.min(...known))} to ${fixed(Math.max(...known))}, ` +
        "averaged over all other decisions. A dot is a trial; its colour is its result. Impossible pairs are blank." +
        (typeof of.explained === "number" && of.explained < 0.1 ?
             " This forest predicts unseen trials hardly better than their mean, so the map is only a hint." :
             "");
    chart.draw();
  }
  on("selection", () => chart.draw());
  on("filter", () => chart.draw());
  offer();
  show();
  const goals = unpacked.map((of, k) => [k, of?.metric]).filter(([k]) => unpacked[k]);
  return section(
      "map", "Two decisions together",
      "Predictions of the forest of “What mattered” for two decisions. Between the trials they are coarse.",
      el("div", {class: "controls"},
         goals.length > 1 &&
             dropdown(
                 "Goal", goals, goal,
                 (k) => {
                   [goal, across, up] = [Number(k), 0, 1];
                   offer();
                   show();
                 }),
         choosers,
         el("span", {class: "ramp-key"}, "worse", el("div", {class: "ramp", "aria-hidden": "true"}), "better")),
      chart.node, caption, dataTable(["across", "up", "predicted"], () => {
        const of = unpacked[goal];
        return grid().flatMap(
            (column, i) => column.map(
                (value, j) =>
                    [isolated(of.axes[across].labels[i]), isolated(of.axes[up].labels[j]),
                     Number.isNaN(value) ? "–" : fixed(value)]));
      }));
}

// Ticks of a range at round values, of other axes the labels of their cells, as many as there is room for.
function drawMapAxis(ctx, axis, edges, put, space) {
  ctx.fillStyle = theme.soft;
  const from = edges[0], to = edges[edges.length - 1];
  if (axis.range) {
    const scale = makeScale(Number(axis.range.lo), Number(axis.range.hi), from, to, axis.range.log);
    const many = Math.ceil(scale.ticks.length * space / Math.abs(to - from));
    scale.ticks.forEach((tick, k) => {
      if (k % Math.max(1, many) === 0) put(scale.at(tick), tickText(tick), space);
    });
    return;
  }
  let last = -Infinity;
  axis.labels.forEach((label, k) => {
    const at = (edges[k] + edges[k + 1]) / 2, own = Math.abs(edges[k + 1] - edges[k]);
    if (Math.abs(at - last) < space * (own < space ? 1 : 0.5)) return;
    last = at;
    put(at, label, Math.max(own, space) - 6);
  });
}
