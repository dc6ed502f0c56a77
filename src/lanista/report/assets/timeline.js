// Who worked on what, when: one lane a worker.

// How well the workers were used, and how far that is from the limit.
function workLine() {
  const work = source.work;
  if (!work) return null;
  const most = work.workers === 1 ? "One worker was" : `${work.workers} workers were`;
  const gap = work.gap < 0.0005 ? "no more than that" : `${Number((100 * work.gap).toPrecision(2))} % more`;
  return el(
      "p", {class: "caption after"},
      `${most} busy ${Math.round(100 * work.utilisation)} % of ${duration(work.seconds)}. What was trained takes at ` +
          `least ${duration(work.bound)} on as many workers; the study took ${gap}.` +
          (source.waiting ? ` Of the trials that are not trained now, ${source.waiting}.` : ""));
}

function makeTimeline() {
  if (timeline.count === 0) return null;
  const kLane = 26, top = 4;
  let places = [];
  let end = 0, lanes = 0;
  for (let k = 0; k < timeline.count; ++k) {
    end = Math.max(end, timeline.ended[k]);
    lanes = Math.max(lanes, timeline.worker[k] + 1);
  }
  const shownLanes = Math.min(lanes, 64);
  const work = source.work;
  const share = (lane) => (work ? `${Math.round(100 * (work.busy[lane] || 0) / work.seconds)} % busy` : "");

  function paint(ctx, width, height) {
    places = [];
    const left = 78, right = 76;
    const x = makeScale(0, end, left, width - right, false);
    ctx.textBaseline = "middle";
    for (let lane = 0; lane < shownLanes; ++lane) {
      const y = top + lane * kLane;
      ctx.fillStyle = theme.ground;
      ctx.fillRect(left, y + 3, width - right - left, kLane - 6);
      ctx.fillStyle = theme.soft;
      ctx.textAlign = "right";
      ctx.fillText(`worker ${lane}`, left - 10, y + kLane / 2);
      ctx.textAlign = "left";
      ctx.fillText(share(lane), width - right + 6, y + kLane / 2);
    }
    for (let k = 0; k < timeline.count; ++k) {
      if (timeline.worker[k] >= shownLanes) continue;
      const id = timeline.trial[k], i = trials.rows.get(id);
      const px = x.at(timeline.began[k]), wide = Math.max(0.6, x.at(timeline.ended[k]) - px);
      const y = top + timeline.worker[k] * kLane + 3;
      const seen = i === undefined || state.visible[i];
      ctx.globalAlpha = !seen ? 0.12 : i === undefined ? 0.45 : id % 2 ? 0.85 : 0.65;
      ctx.fillStyle =
          id === state.selected ? theme.ink : theme.stateColours[i === undefined ? kDuplicate : trials.state[i]];
      if (id === state.selected) ctx.globalAlpha = 1;
      ctx.fillRect(px, y, wide > 3 ? wide - 0.75 : wide, kLane - 6);
      places.push([px, wide, y, id]);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.soft;
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    for (const tick of x.ticks) ctx.fillText(`${tickText(tick)} s`, x.at(tick), height - 16);
  }

  const pick = (px, py) => {
    const hit = places.find(([x, wide, y]) => px >= x - 1 && px <= x + wide + 1 && py >= y && py <= y + kLane - 6);
    return hit ? hit[3] : 0;
  };
  const order = Array.from(new Set(timeline.trial)).filter((id) => id && trials.rows.has(id));
  const chart = new Chart(
      "Working times. Arrow keys step through trials in order of work.", top + shownLanes * kLane + 22,
      {paint, pick, step: stepThrough(() => order)});
  const update = () => chart.draw();
  on("selection", update);
  on("filter", update);
  const more = lanes > shownLanes ? ` The first ${shownLanes} of ${lanes} workers are drawn.` : "";
  return section(
      "timeline", "Device timeline",
      `Worked seconds of the study, a lane for each worker; pauses between attempts are left out.${more}`, workLine(), chart.node,
      legend(
          [kSucceeded, "trained to its budget"], [kStopped, "stopped early"], [kFailed, "failed"],
          [kRunning, "running"]),
      dataTable(
          ["worker", "trial", "from second", "to second"],
          () => Array.from(
              {length: timeline.count},
              (_, k) =>
                  [timeline.worker[k], timeline.trial[k] ? trialLink(timeline.trial[k]) : "several", timeline.began[k],
                   timeline.ended[k]])));
}
