// Parallel coordinates: an axis for every hyper-parameter, for size, and for the goals. Dragging along an axis keeps
// the trials that pass there.

function makeParallel() {
  const kTop = 46, kBottom = 30, kHeight = 340;
  const size = integerColumn("parameters", trials.parameters, true);
  const epochs = integerColumn("epochs", trials.epochs, false);
  const columns = [...trials.params, size, epochs, ...study.goals.map((_, g) => goalColumn(g))];
  // A duplicate's line would be that of the trial it equals.
  const order = Array.from(trials.id.keys())
                    .filter(
                        (i) => trials.state[i] !== kRunning && trials.state[i] !== kDuplicate &&
                            Number.isFinite(goalColumn(0).at(i)));
  const axes = columns.map(makeAxis).filter((axis) => axis !== null);
  const shades = shadesOf(order);
  order.sort((a, b) => shades[a] - shades[b]);
  let width = 0, dragging = null;

  // Names are at equal distances, numbers on their scale, missing values below the axis.
  function makeAxis(column) {
    if (column.names) {
      const named = column.names.length - 1;
      return named < 1 ?
          null :
          {column, lo: 1, hi: Math.max(2, named), log: false, conditional: order.some((i) => !column.has(i))};
    }
    let lo = Infinity, hi = -Infinity;
    for (const i of order) {
      const v = column.at(i);
      if (column.has(i) && Number.isFinite(v)) [lo, hi] = [Math.min(lo, v), Math.max(hi, v)];
    }
    if (!(lo <= hi)) return null;
    const goal = study.goals.findIndex((_, g) => goalColumn(g) === column);
    let log = column.log;
    if (goal >= 0) {
      const range = robustRange(order.map((i) => column.at(i)), study.goals[goal].maximize);
      [lo, hi, log] = [Math.max(lo, range.lo), Math.min(hi, range.hi), range.log];
    }
    return {column, lo, hi, log: log && lo > 0, conditional: order.some((i) => !column.has(i))};
  }

  // 0 (worst) to 11 (best) by rank among the finished; the others are palest.
  function shadesOf(rows) {
    const out = new Uint8Array(trials.count);
    for (const i of rows)
      if (trials.rank[i]) out[i] = Math.floor(11.99 * (1 - (trials.rank[i] - 1) / source.proposed) ** 2);
    return out;
  }

  function layout(w, h) {
    width = w;
    const gap = (w - 110) / Math.max(1, axes.length - 1);
    axes.forEach((axis, k) => {
      axis.x = 55 + k * gap;
      axis.scale = makeScale(axis.lo, axis.hi, h - kBottom, kTop, axis.log);
      axis.below = h - 8;
    });
  }

  function place(axis, i) {
    const value = axis.column.at(i);
    if (!axis.column.has(i) || !Number.isFinite(value)) return axis.below;
    return Math.max(
        kTop - 4, Math.min(kHeight - kBottom + 4, axis.scale.at(axis.log ? Math.max(value, axis.lo) : value)));
  }

  function trace(ctx, i) {
    ctx.moveTo(axes[0].x, place(axes[0], i));
    for (let k = 1; k < axes.length; ++k) ctx.lineTo(axes[k].x, place(axes[k], i));
  }

  function paint(ctx, w, h) {
    layout(w, h);
    if (order.length === 0) return emptyChart(ctx, w, h, "No trial has measured the goal yet.");
    const many = order.length > 1500;
    ctx.lineWidth = many ? 0.7 : 1.1;
    for (const shown of [0, 1]) {
      for (let shade = 0, at = 0; shade < 12; ++shade) {
        ctx.strokeStyle = shown ? theme.ramp[shade] : theme.rule;
        ctx.globalAlpha = !shown ? 0.25 : many ? 0.03 + 0.14 * (shade / 11) ** 3 : 0.75;
        // Short paths: canvases are slow at stroking one that crosses itself a thousand times.
        for (; at < order.length && shades[order[at]] === shade; ++at) {
          if (state.visible[order[at]] !== shown) continue;
          ctx.beginPath();
          trace(ctx, order[at]);
          ctx.stroke();
        }
      }
    }
    ctx.globalAlpha = 1;
    const chosen = trials.rows.get(state.selected);
    if (chosen !== undefined && axes.length) {
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      trace(ctx, chosen);
      ctx.stroke();
    }
    axes.forEach((axis, k) => drawAxis(ctx, axis, k, h));
  }

  function drawAxis(ctx, axis, k, h) {
    ctx.strokeStyle = theme.soft;
    ctx.lineWidth = 1;
    line(ctx, axis.x, kTop, axis.x, h - kBottom);
    const last = k === axes.length - 1;
    ctx.textAlign = last ? "right" : "left";
    ctx.textBaseline = "middle";
    const label = (text, y, bold) => {
      const space = Math.max(40, (width - 110) / Math.max(1, axes.length - 1) - 14);
      const shown = clip(ctx, text, space), wide = ctx.measureText(shown).width;
      ctx.fillStyle = theme.paper;
      ctx.globalAlpha = 0.8;
      ctx.fillRect(last ? axis.x - 8 - wide : axis.x + 4, y - 7, wide + 4, 14);
      ctx.globalAlpha = 1;
      ctx.fillStyle = bold ? theme.ink : theme.soft;
      ctx.fillText(shown, axis.x + (last ? -6 : 6), y);
    };
    const ticks = axis.column.names ? axis.column.names.slice(1).map((_, v) => v + 1).slice(0, 24) : axis.scale.ticks;
    for (const tick of ticks)
      label(axis.column.names ? axis.column.names[tick] : tickText(tick), axis.scale.at(tick), false);
    if (axis.conditional) label("not used", axis.below, false);
    const brush = state.brushes.get(axis.column.name);
    if (brush) {
      const [y0, y1] =
          [axis.scale.at(Math.min(brush.hi, axis.scale.hi)), axis.scale.at(Math.max(brush.lo, axis.scale.lo))];
      ctx.fillStyle = theme.accent;
      ctx.globalAlpha = 0.25;
      ctx.fillRect(axis.x - 7, y0, 14, Math.max(2, y1 - y0));
      ctx.globalAlpha = 1;
      ctx.strokeStyle = theme.accent;
      ctx.strokeRect(axis.x - 7, y0, 14, Math.max(2, y1 - y0));
    }
  }

  function pick(px, py) {
    let best = 0, distance = 36;
    for (let k = 1; k < axes.length; ++k) {
      const [a, b] = [axes[k - 1], axes[k]];
      if (px < a.x || px > b.x) continue;
      const t = (px - a.x) / (b.x - a.x);
      for (const i of order) {
        if (!state.visible[i]) continue;
        const d = (place(a, i) * (1 - t) + place(b, i) * t - py) ** 2;
        if (d <= distance) [best, distance] = [trials.id[i], d];
      }
    }
    return best;
  }

  const chart =
      new Chart("Hyper-parameters and results of trials as lines across parallel axes", kHeight, {paint, pick});
  chart.canvas.style.touchAction = "none";
  chart.canvas.addEventListener("pointerdown", (event) => {
    const box = chart.canvas.getBoundingClientRect();
    const axis = axes.find((a) => Math.abs(a.x - (event.clientX - box.left)) < 10);
    if (!axis) return;
    dragging = {axis, from: event.clientY - box.top, moved: false};
    chart.canvas.setPointerCapture(event.pointerId);
  });
  chart.canvas.addEventListener("pointermove", (event) => {
    if (!dragging) return;
    const y = event.clientY - chart.canvas.getBoundingClientRect().top;
    if (Math.abs(y - dragging.from) < 4 && !dragging.moved) return;
    dragging.moved = true;
    brush(dragging.axis, dragging.from, y);
  });
  const stop = (event) => {
    if (!dragging) return;
    if (!dragging.moved)
      setBrush(dragging.axis.column, null);
    else
      event.stopPropagation();
    dragging = null;
  };
  chart.canvas.addEventListener("pointerup", stop);
  chart.canvas.addEventListener("pointercancel", stop);

  // At an end of the axis the brush is open: values beyond it were moved to the edge.
  function brush(axis, y0, y1) {
    const at = (y) => axis.scale.value(Math.max(kTop, Math.min(kHeight - kBottom, y)));
    const [upper, lower] = [Math.min(y0, y1), Math.max(y0, y1)];
    setBrush(
        axis.column,
        {lo: lower >= kHeight - kBottom ? -Infinity : at(lower), hi: upper <= kTop ? Infinity : at(upper)});
  }

  // For the keyboard: windows of a quarter of the axis, moved by the arrows.
  const heads = el("div", {class: "axes"}, axes.map((axis) => {
    let quarter = -1;
    const button =
        el("button", {
          type: "button",
          title: `${axis.column.name}: arrow keys filter by quarters of the axis, Delete clears`,
          keydown: (event) => {
            const by = {ArrowUp: 1, ArrowDown: -1}[event.key];
            if (event.key === "Delete" || event.key === "Backspace") {
              quarter = -1;
              setBrush(axis.column, null);
            } else if (by !== undefined) {
              event.preventDefault();
              quarter = Math.max(0, Math.min(3, quarter < 0 ? (by > 0 ? 0 : 3) : quarter + by));
              const step = (kHeight - kBottom - kTop) / 4;
              brush(axis, kHeight - kBottom - quarter * step, kHeight - kBottom - (quarter + 1) * step);
            }
          }
        },
           isolated(axis.column.name));
    axis.button = button;
    return button;
  }));
  const arrangeHeads = () => axes.forEach((axis, k) => {
    axis.button.style.left = `${axis.x}px`;
    axis.button.classList.toggle("last", k === axes.length - 1);
    axis.button.classList.toggle("raised", k % 2 === 1);
  });
  const update = () => {
    chart.draw();
    arrangeHeads();
  };
  on("selection", update);
  on("filter", update);
  new ResizeObserver(() => requestAnimationFrame(arrangeHeads)).observe(chart.node);
  if (axes.length < 2) return null;
  return section(
      "parallel", "Hyper-parameters",
      "Each line is a trial; better trials have stronger lines. Drag along an axis to filter; Escape clears filters.",
      el("div", {class: "parallel"}, heads, chart.node),
      dataTable(
          ["trial", ...axes.map((a) => a.column.name)],
          () => order.slice()
                    .reverse()
                    .filter((i) => state.visible[i])
                    .map(
                        (i) =>
                            [trialLink(trials.id[i]),
                             ...axes.map((a) => isolated(a.column.has(i) ? a.column.text(i) : "not used"))])));
}
