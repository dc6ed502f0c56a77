// Learning curves, with the rungs at which trials were compared and how each ended.

function makeCurves() {
  const metrics = trials.metrics.map((m) => m.name);
  const kTop = 10, kMaxCurves = 1500;
  let metric = 0, places = [];
  const ids = Array.from(curves.keys());
  const drawOrder = ids.slice(0, kMaxCurves)
                        .map((id) => trials.rows.get(id))
                        .filter((i) => i !== undefined)
                        .sort((a, b) => (trials.rank[b] || Infinity) - (trials.rank[a] || Infinity) || b - a);

  function range() {
    const all = [];
    let epochs = 1;
    for (const i of drawOrder) {
      const curve = curves.get(trials.id[i]);
      for (const value of curve.values[metric])
        if (Number.isFinite(value)) all.push(value);
      epochs = Math.max(epochs, curve.epochs[curve.epochs.length - 1]);
    }
    const found = robustRange(
        all, metric < study.goals.length ? study.goals[metric].maximize : !metrics[metric].includes("loss"));
    return found && {...found, epochs};
  }

  function paint(ctx, width, height) {
    places = [];
    const seen = range();
    if (!seen) return emptyChart(ctx, width, height, "Nothing has been measured yet.");
    const x = makeScale(Math.min(1, seen.epochs - 1), seen.epochs, frame.left, width - frame.right, false);
    const y = makeScale(seen.lo, seen.hi, height - frame.bottom, frame.top, seen.log);
    x.ticks = x.ticks.filter(Number.isInteger);
    drawAxes(ctx, width, height, x, y, "epoch", axisName(metrics[metric], seen));
    drawRungs(ctx, x, seen.epochs, height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(frame.left - 6, frame.top, width - frame.left - frame.right + 12, height - frame.bottom - frame.top + 6);
    ctx.clip();
    for (const i of drawOrder) drawCurve(ctx, i, x, y, false);
    const chosen = trials.rows.get(state.selected);
    if (chosen !== undefined && curves.has(state.selected)) drawCurve(ctx, chosen, x, y, true);
    ctx.restore();
  }

  function drawRungs(ctx, x, epochs, height) {
    ctx.setLineDash([3, 4]);
    ctx.strokeStyle = theme.soft;
    ctx.fillStyle = theme.soft;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    for (const rung of study.rungs) {
      if (rung > epochs) continue;
      line(ctx, x.at(rung), frame.top, x.at(rung), height - frame.bottom);
      ctx.fillText(`rung ${rung}`, x.at(rung) + 4, height - frame.bottom - 4);
    }
    ctx.setLineDash([]);
  }

  function drawCurve(ctx, i, x, y, chosen) {
    const curve = curves.get(trials.id[i]), values = curve.values[metric];
    const top = trials.rank[i] > 0 && trials.rank[i] <= kTop;
    ctx.globalAlpha = chosen   ? 1 :
        !state.visible[i]      ? 0.04 :
        top                    ? 0.9 :
        drawOrder.length > 500 ? 0.12 :
        drawOrder.length > 150 ? 0.25 :
                                 0.5;
    ctx.strokeStyle = chosen ? theme.ink : top ? theme.accent : theme.faint;
    ctx.lineWidth = chosen ? 2.5 : top ? 1.5 : 1;
    ctx.beginPath();
    let pen = false, endX = 0, endY = 0;
    for (let k = 0; k < values.length; ++k) {
      if (!Number.isFinite(values[k]) || (y.log && values[k] <= 0)) {
        pen = false;
        continue;
      }
      [endX, endY] = [x.at(curve.epochs[k]), y.at(values[k])];
      if (pen)
        ctx.lineTo(endX, endY);
      else
        ctx.moveTo(endX, endY);
      pen = true;
      if (state.visible[i] || chosen) places.push([endX, endY, trials.id[i]]);
    }
    ctx.stroke();
    if (endX === 0 || (!chosen && !top && drawOrder.length > 120)) return;
    ctx.fillStyle = ctx.strokeStyle = chosen ? theme.ink : theme.stateColours[trials.state[i]];
    ctx.lineWidth = 1.5;
    mark(ctx, trials.state[i], endX, endY, chosen ? 4.5 : 3);
  }

  const byRank = drawOrder.slice().reverse().map((i) => trials.id[i]);
  const chart = new Chart(
      "Learning curves. Arrow keys step through trials from best to worst.", curves.size ? 300 : 60,
      {paint, pick: (px, py) => nearest(places, px, py, 12), step: stepThrough(() => byRank)});
  const update = () => chart.draw();
  on("selection", update);
  on("filter", update);
  const held = drawOrder.length < ids.length || !complete ?
      ` The chart shows ${short(drawOrder.length)} trials: the best, and a sample of the others.` :
      "";
  return section(
      "curves", "Learning curves",
      `The best ten have strong lines. Dashed lines are the rungs at which the stopping rule compares trials.${held}`,
      el("div", {class: "controls"},
         dropdown(
             "Metric", metrics.map((name, k) => [k, name]), 0,
             (k) => {
               metric = Number(k);
               update();
             })),
      chart.node,
      legend(
          [kSucceeded, "trained to its budget"], [kStopped, "stopped by the rule"], [kFailed, "failed"],
          [kRunning, "still running"]),
      dataTable(["trial", "ended as", "last epoch", "values by epoch"], () => byRank.map((id) => {
        const curve = curves.get(id), i = trials.rows.get(id);
        return [trialLink(id), stateName(i), trials.epochs[i], Array.from(curve.values[metric], fixed).join("  ")];
      })));
}
