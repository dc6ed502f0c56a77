// With several goals: trials by two of them, and the Pareto front over all of them. Trials that violate a constraint
// are not on it.

function makePareto() {
  if (study.goals.length < 2) return null;
  let first = 0, second = 1, places = [];
  const rows = ranked.filter((i) => study.goals.every((_, g) => Number.isFinite(goalColumn(g).at(i))));
  const loss = (i, g) => (study.goals[g].maximize ? -1 : 1) * goalColumn(g).at(i);
  const front = paretoFront(rows.filter((i) => !trials.off_front[i]), loss);

  function paint(ctx, width, height) {
    places = [];
    if (rows.length === 0) return emptyChart(ctx, width, height, "No finished trial has measured all goals.");
    const xs = goalColumn(first), ys = goalColumn(second);
    const rx = robustRange(rows.map((i) => xs.at(i)), study.goals[first].maximize);
    const ry = robustRange(rows.map((i) => ys.at(i)), study.goals[second].maximize);
    const x = robustScale(rx, frame.left, width - frame.right);
    const y = robustScale(ry, height - frame.bottom, frame.top);
    const arrow = (g, range) =>
        axisName(`${study.goals[g].metric} (${study.goals[g].maximize ? "more" : "less"} is better)`, range);
    drawAxes(ctx, width, height, x, y, arrow(first, rx), arrow(second, ry));
    const place = (i) => [x.at(xs.at(i)), y.at(ys.at(i))];
    for (const i of rows) {
      const [px, py] = place(i);
      const leads = front.has(i);
      ctx.globalAlpha = !state.visible[i] ? 0.06 : leads ? 1 : 0.5;
      ctx.fillStyle = ctx.strokeStyle = leads ? theme.warn : theme.faint;
      ctx.lineWidth = 1.5;
      mark(ctx, trials.state[i], px, py, leads ? 4.5 : rows.length > 2000 ? 1.6 : 3);
      if (state.visible[i]) places.push([px, py, trials.id[i]]);
    }
    ctx.globalAlpha = 1;
    if (study.goals.length === 2) drawFront(ctx, place);
    const chosen = trials.rows.get(state.selected);
    if (chosen !== undefined && rows.includes(chosen)) ring(ctx, ...place(chosen));
  }

  // Stairs: a corner dominates all points behind it.
  function drawFront(ctx, place) {
    const corners = Array.from(front, place).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turnX = study.goals[first].maximize;
    ctx.strokeStyle = theme.warn;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    corners.forEach(([px, py], k) => {
      if (k === 0) return ctx.moveTo(px, py);
      const [bx, by] = corners[k - 1];
      ctx.lineTo(turnX ? bx : px, turnX ? py : by);
      ctx.lineTo(px, py);
    });
    ctx.stroke();
    ctx.lineWidth = 1;
  }

  const byFirst = Array.from(front).sort((a, b) => loss(a, 0) - loss(b, 0));
  const chart = new Chart("Trials by two goals. Arrow keys step along the front.", 320, {
    paint,
    pick: (px, py) => nearest(places, px, py, 14),
    step: stepThrough(() => byFirst.map((i) => trials.id[i]))
  });
  const update = () => chart.draw();
  on("selection", update);
  on("filter", update);
  const options = study.goals.map((goal, g) => [g, goal.metric]);
  return section(
      "pareto", "Pareto front", `${plural(front.size, "trial")} that no other trial dominates` +
          (study.constraints.length ? `, among those that violate ${study.constraints.join(", ")} least.` : "."),
      study.goals.length > 2 &&
          el("div", {class: "controls"},
             dropdown(
                 "Across", options, first,
                 (g) => {
                   first = Number(g);
                   update();
                 }),
             dropdown(
                 "Up", options, second,
                 (g) => {
                   second = Number(g);
                   update();
                 })),
      chart.node,
      dataTable(
          ["trial", ...study.goals.map((g) => g.metric), "parameters"],
          () => byFirst.map(
              (i) =>
                  [trialLink(trials.id[i]), ...study.goals.map((_, g) => goalColumn(g).at(i)), trials.parameters[i]])));
}

// Rows in order of their losses. Each is compared with the front so far, since no later row can dominate it.
function paretoFront(rows, loss) {
  const goals = study.goals.map((_, g) => g);
  const order = rows.slice().sort((a, b) => {
    for (const g of goals)
      if (loss(a, g) !== loss(b, g)) return loss(a, g) - loss(b, g);
    return a - b;
  });
  const front = [];
  for (const i of order) {
    const dominated =
        front.some((f) => goals.every((g) => loss(f, g) <= loss(i, g)) && goals.some((g) => loss(f, g) < loss(i, g)));
    if (!dominated) front.push(i);
  }
  return new Set(front);
}
