// The work of each worker over time: one row a worker, one bar a trial, as high as its share of the worker.

// How well the workers were used, and how far that is from the limit.
function workLine() {
  const work = source.work;
  if (!work) return null;
  const most = work.workers === 1 ? "One worker was" : `${work.workers} workers were`;
  const gap = work.gap < 0.0005 ? "the same time" : `${Number((100 * work.gap).toPrecision(2))} % more`;
  return el(
      "p", {class: "caption after"},
      `${most} busy ${Math.round(100 * work.utilisation)} % of ${duration(work.seconds)}. ` +
          `The least time of this work on as many workers is ${duration(work.bound)}; the study needed ${gap}. ` +
          `The least time is the largest of ` +
          `these lower bounds: ${work.bounds}` +
          (source.waiting ? ` Of the trials that are not trained now, ${source.waiting}.` : ""));
}

// The host of a bar's worker; empty: this machine, or unknown.
function hostOf(k) {
  return (timeline.host && source.hosts?.names[timeline.host[k] - 1]) || "";
}

// The work of each host, if there are several.
function hostTable() {
  const hosts = source.hosts?.uses ?? [];
  const moved = source.hosts?.moved ? el("p", {class: "caption after"}, `${source.hosts.moved}.`) : null;
  if (hosts.length < 2) return moved;
  const devices = hosts.every((host) => host.device);
  const heads = [devices ? "device" : "host", !study.ended && !devices && "workers now", "share of the work",
                 !devices && "workers lost"].filter((head) => head);
  const row = (host) =>
      [el("td", {}, isolated(host.name)),
       !study.ended && !devices && el("td", {class: "number"}, short(host.present)),
       el("td", {class: "number"}, `${Math.round(100 * host.share)} %`),
       !devices && el("td", {class: "number"}, short(host.lost))].filter((cell) => cell);
  return [
    el("div", {class: "scroll", id: "hosts"},
       el("table", {class: "plain-table"},
          el("thead", {},
             el("tr", {}, heads.map((head, k) => el("th", {scope: "col", class: k ? "number" : null}, head)))),
          el("tbody", {}, hosts.map((host) => el("tr", {}, row(host)))))),
    source.hosts.count > hosts.length &&
        el("p", {class: "caption"}, `${short(hosts.length)} of ${short(source.hosts.count)} hosts.`),
    moved
  ];
}

// `text`, cut to at most `most` pixels.
function fitted(ctx, text, most) {
  if (ctx.measureText(text).width <= most) return text;
  while (text && ctx.measureText(`${text}…`).width > most) text = text.slice(0, -1);
  return `${text}…`;
}

// The text of a bar on the share of its trial: "1/3 of worker 0", "worker 0 and 1 helper", "helps".
function shareText(k) {
  const worker = `worker ${timeline.worker[k]}${hostOf(k) ? ` on ${hostOf(k)}` : ""}`;
  if (timeline.helps[k]) return `${worker}, helping`;
  if (timeline.width[k] > 1) return `${worker} and ${plural(timeline.width[k] - 1, "helper")}`;
  return timeline.lanes[k] > 1 ? `1/${timeline.lanes[k]} of ${worker}` : worker;
}

function makeTimeline() {
  if (timeline.count === 0) {
    const measured = trials.epochs.some((epochs) => epochs > 0);
    return measured ? section("timeline", "Device timeline", "The log of this study has no working times.") : null;
  }
  const kRow = 34, top = 4;
  let places = [], over = 0;
  let end = 0, rows = 0;
  for (let k = 0; k < timeline.count; ++k) {
    end = Math.max(end, timeline.ended[k]);
    rows = Math.max(rows, timeline.worker[k] + 1);
  }
  const shownRows = Math.min(rows, 64);
  const hosts = Array.from({length: shownRows}, () => new Set());  // of each worker, in order of time
  for (let k = 0; k < timeline.count; ++k) {
    if (timeline.worker[k] < shownRows && hostOf(k)) hosts[timeline.worker[k]].add(hostOf(k));
  }
  const kMargin = source.hosts ? 150 : 78;
  const work = source.work;
  const share = (row) => (work ? `${Math.round(100 * (work.busy[row] || 0) / work.seconds)} % busy` : "");
  const kShared = timeline.lanes.some((lanes) => lanes > 1), kWide = timeline.width.some((width) => width > 1);

  function paintRows(ctx, left, right, width) {
    ctx.textBaseline = "middle";
    for (let row = 0; row < shownRows; ++row) {
      const y = top + row * kRow;
      ctx.fillStyle = theme.ground;
      ctx.fillRect(left, y + 3, width - right - left, kRow - 6);
      ctx.fillStyle = theme.soft;
      ctx.textAlign = "right";
      const where = Array.from(hosts[row]).join(", ");
      ctx.fillText(`worker ${row}`, left - 10, y + kRow / 2 - (where ? 7 : 0));
      if (where) ctx.fillText(fitted(ctx, where, left - 14), left - 10, y + kRow / 2 + 7);
      ctx.textAlign = "left";
      ctx.fillText(share(row), width - right + 6, y + kRow / 2);
    }
  }

  // For a trial of several workers: a line below the bar of the leader, and stripes in those of helpers.
  function paintWidth(ctx, k, px, y, wide, high) {
    ctx.fillStyle = ctx.strokeStyle = theme.paper;
    if (timeline.helps[k]) {
      ctx.save();
      ctx.beginPath();
      ctx.rect(px, y, wide, high);
      ctx.clip();
      ctx.lineWidth = 2;
      for (let at = px - high; at < px + wide; at += 8) line(ctx, at, y + high, at + high, y);
      ctx.restore();
    } else if (timeline.width[k] > 1) {
      ctx.fillRect(px, y + high - 6, wide, 2);
    }
  }

  function paintLabel(ctx, k, px, y, wide, high) {
    const text = timeline.width[k] > 1 && !timeline.helps[k] ? `#${timeline.trial[k]} ×${timeline.width[k]}` :
                                                                 `#${timeline.trial[k]}`;
    if (high < 12 || !timeline.trial[k] || timeline.helps[k] || ctx.measureText(text).width + 8 > wide) return;
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.paper;
    ctx.textAlign = "left";
    ctx.fillText(text, px + 4, y + high / 2);
  }

  function paint(ctx, width, height) {
    places = [];
    const left = kMargin, right = 76;
    const x = makeScale(0, end, left, width - right, false);
    paintRows(ctx, left, right, width);
    for (let k = 0; k < timeline.count; ++k) {
      if (timeline.worker[k] >= shownRows) continue;
      const id = timeline.trial[k], i = trials.rows.get(id);
      const px = x.at(timeline.began[k]), wide = Math.max(0.6, x.at(timeline.ended[k]) - px);
      const high = (kRow - 6) / timeline.lanes[k];
      const y = top + timeline.worker[k] * kRow + 3 + timeline.place[k] * high;
      const seen = i === undefined || state.visible[i];
      ctx.globalAlpha = !seen ? 0.12 : i === undefined ? 0.45 : id % 2 ? 0.85 : 0.65;
      ctx.fillStyle =
          id === state.selected ? theme.ink : theme.stateColours[i === undefined ? kDuplicate : trials.state[i]];
      if (id === state.selected) ctx.globalAlpha = 1;
      const shown = wide > 3 ? wide - 0.75 : wide, tall = high > 4 ? high - 0.75 : high;
      ctx.fillRect(px, y, shown, tall);
      if (timeline.width[k] > 1) paintWidth(ctx, k, px, y, shown, tall);
      paintLabel(ctx, k, px, y, shown, tall);
      places.push([px, wide, y, high, id, k]);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.soft;
    ctx.textBaseline = "top";
    ctx.textAlign = "center";
    for (const tick of x.ticks) ctx.fillText(`${tickText(tick)} s`, x.at(tick), height - 16);
  }

  const pick = (px, py) => {
    const hit = places.find(([x, wide, y, high]) => px >= x - 1 && px <= x + wide + 1 && py >= y && py <= y + high);
    if (hit) over = hit[5];
    return hit ? hit[4] : 0;
  };
  const describe = (id) =>
      [...describeTrial(id), shareText(over),
       `${duration(timeline.began[over])} to ${duration(timeline.ended[over])}`];
  const order = Array.from(new Set(timeline.trial)).filter((id) => id && trials.rows.has(id));
  const chart = new Chart(
      "Working times. Arrow keys step through trials in order of work.", top + shownRows * kRow + 22,
      {paint, pick, describe, step: stepThrough(() => order)});
  const update = () => chart.draw();
  on("selection", update);
  on("filter", update);
  const notes = [
    kShared && "Trials that share a worker are stacked, each as high as its share.",
    kWide && "×2: a trial of two workers; a striped bar is a helper. Helpers report no times, so these are workers " +
            "without other work.",
    rows > shownRows && `The chart shows the first ${shownRows} of ${rows} workers.`
  ].filter((note) => note);
  return section(
      "timeline", "Device timeline",
      `Worked seconds of the study, a row for each worker; pauses between attempts are left out. A bar is work ` +
          `of a trial without a visible gap; the background is idle time. ${notes.join(" ")}`,
      workLine(), chart.node, hostTable(),
      legend(
          [kSucceeded, "trained to its budget"], [kStopped, "stopped early"], [kFailed, "failed"],
          [kRunning, "running"]),
      dataTable(
          ["worker", "trial", "share", "from second", "to second"],
          () => Array.from(
              {length: timeline.count},
              (_, k) =>
                  [timeline.worker[k], timeline.trial[k] ? trialLink(timeline.trial[k]) : "several", shareText(k),
                   timeline.began[k], timeline.ended[k]])));
}
