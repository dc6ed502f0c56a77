// The best value so far, over trials, worked seconds or training steps.

function makeProgress() {
  let by = "trials", goal = 0, places = [];

  // The x position of each row. Steps add up in the order in which trials were proposed.
  const axes = {trials: {name: "trial", of: () => trials.id}};
  if (trials.ended.missing.some((m) => !m)) axes.seconds = {name: "worked seconds", of: () => trials.ended.values};
  if (complete) {
    const sums = new Float64Array(trials.count);
    for (let i = 0, sum = 0; i < trials.count; ++i) sums[i] = sum += trials.steps[i];
    axes.steps = {name: "training steps", of: () => sums};
  }
  const ordered = () => {
    const x = axes[by].of();
    return ranked.filter((i) => Number.isFinite(x[i])).sort((a, b) => x[a] - x[b] || a - b);
  };
  // Rows that were better than everything before them.
  const records = (rows) => {
    const column = goalColumn(goal), out = [];
    for (const i of rows) {
      if (Number.isNaN(column.at(i))) continue;
      if (out.length === 0 || better(goal, column.at(i), column.at(out[out.length - 1]))) out.push(i);
    }
    return out;
  };

  function paint(ctx, width, height) {
    places = [];
    const rows = ordered(), column = goalColumn(goal), xs = axes[by].of();
    // Stopped trials are bad by selection, so they do not count for the range.
    const whole = rows.filter((i) => trials.state[i] === kSucceeded && Number.isFinite(column.at(i)));
    const range = robustRange((whole.length < 5 ? rows : whole).map((i) => column.at(i)), study.goals[goal].maximize);
    if (!range) return emptyChart(ctx, width, height, "No trial has finished yet.");
    const levels = levelsInReach(range, baselineLevels(study.goals[goal].metric), 1);
    const last = Math.max(...[xs[rows[rows.length - 1]], by === "trials" ? trials.id[trials.count - 1] : 0]);
    const x = makeScale(by === "trials" ? 0 : Math.min(0, xs[rows[0]]), last, frame.left, width - frame.right, false);
    const y = robustScale(range, height - frame.bottom, frame.top);
    drawAxes(ctx, width, height, x, y, axes[by].name, axisName(study.goals[goal].metric, range));
    drawLevels(ctx, width, y, levels);
    ctx.lineWidth = 1.5;
    const size = rows.length > 2000 ? 1.6 : 3;
    for (const i of rows) {
      const value = column.at(i);
      if (Number.isNaN(value)) continue;
      ctx.globalAlpha = state.visible[i] ? 0.75 : 0.08;
      ctx.fillStyle = ctx.strokeStyle = theme.stateColours[trials.state[i]];
      const px = x.at(xs[i]), py = y.at(value);
      mark(ctx, trials.state[i], px, py, size);
      if (state.visible[i]) places.push([px, py, trials.id[i]]);
    }
    ctx.globalAlpha = 1;
    drawFailures(ctx, x, xs, height);
    drawRecords(ctx, records(rows), x, xs, y, width);
    const chosen = trials.rows.get(state.selected);
    if (trials.rank[chosen] && Number.isFinite(xs[chosen])) ring(ctx, x.at(xs[chosen]), y.at(column.at(chosen)));
  }

  function drawFailures(ctx, x, xs, height) {
    ctx.strokeStyle = theme.bad;
    ctx.lineWidth = 1.5;
    for (let i = 0; i < trials.count; ++i) {
      if (trials.state[i] !== kFailed || !Number.isFinite(xs[i]) || !state.visible[i]) continue;
      const px = x.at(xs[i]), py = height - frame.bottom - 5;
      mark(ctx, kFailed, px, py, 3);
      places.push([px, py, trials.id[i]]);
    }
  }

  function drawRecords(ctx, rows, x, xs, y, width) {
    const column = goalColumn(goal);
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 2;
    ctx.beginPath();
    rows.forEach((i, k) => {
      if (k === 0)
        ctx.moveTo(x.at(xs[i]), y.at(column.at(i)));
      else
        ctx.lineTo(x.at(xs[i]), y.at(column.at(rows[k - 1])));
      ctx.lineTo(x.at(xs[i]), y.at(column.at(i)));
    });
    if (rows.length) ctx.lineTo(width - frame.right, y.at(column.at(rows[rows.length - 1])));
    ctx.stroke();
    ctx.lineWidth = 1;
  }

  const chart =
      new Chart("Best value so far over the study. Arrow keys step through the records.", ranked.length ? 300 : 60, {
        paint,
        pick: (px, py) => nearest(places, px, py, 14),
        step: stepThrough(() => records(ordered()).map((i) => trials.id[i])),
      });
  const update = () => chart.draw();
  on("selection", update);
  on("filter", update);
  const controls =
      el("div", {class: "controls"},
         choices("Over", Object.entries(axes).map(([key, axis]) => [key, axis.name]), by, (key) => {
           by = key;
           update();
         }), study.goals.length > 1 && dropdown("Goal", study.goals.map((g, k) => [k, g.metric]), 0, (k) => {
               goal = Number(k);
               update();
             }));
  return section(
      "progress", "Best so far",
      "Each mark is a trial at its selected epoch. The line is the best value so far. Outliers are at the edge.",
      controls, chart.node,
      legend([kSucceeded, "trained to its budget"], [kStopped, "stopped early"], [kFailed, "failed"]),
      dataTable(
          ["trial", axes.seconds ? "worked seconds" : "trial ended", study.goals.map((g) => `record ${g.metric}`)[0]],
          () =>
              records(ordered()).map((i) => [trialLink(trials.id[i]), trials.ended.text(i), goalColumn(goal).at(i)])));
}
