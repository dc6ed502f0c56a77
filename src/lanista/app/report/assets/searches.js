// Searches inside a trial: its training loss, and each tried branch as a stroke from its start.

function makeSearches() {
  const ids = Object.keys(source.searches).map(Number).filter((id) => trials.rows.has(id));
  if (ids.length === 0) return null;
  const byRank = (id) => trials.rank[trials.rows.get(id)] || Infinity;
  const order = ids.slice().sort((a, b) => byRank(a) - byRank(b) || a - b);
  let shown = 0, places = [], over = null;

  // The selected trial if it searched, or else the best trial with a search.
  const choose = () => (source.searches[state.selected] ? state.selected : shown || order[0]);

  function paint(ctx, width, height) {
    places = [];
    const {searches, steps, losses} = source.searches[shown];
    const values = losses.map(Number).concat(searches.flatMap((search) => [
      search.start, ...search.branches.map((branch) => branch.level)
    ]).filter((value) => value !== null).map(Number));
    const finite = values.filter(Number.isFinite);
    const lo = Math.min(...finite), hi = Math.max(...finite);
    const range = lo > 0 && hi / lo > 8 ? {lo: lo / 1.1, hi: hi * 1.1, log: true} :
                                          {lo: lo - 0.05 * (hi - lo), hi: hi + 0.05 * (hi - lo), log: false};
    if (finite.length === 0) return emptyChart(ctx, width, height, "The log has no loss of this trial.");
    const last = Math.max(1, ...steps, ...searches.flatMap((s) => s.branches.map((b) => s.step + b.steps)));
    const x = makeScale(0, last, frame.left, width - frame.right, false);
    const y = robustScale(range, height - frame.bottom, frame.top);
    drawAxes(ctx, width, height, x, y, "step", axisName("train_loss", range));
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    steps.forEach((step, k) => ctx[k ? "lineTo" : "moveTo"](x.at(step), y.at(Number(losses[k]))));
    ctx.stroke();
    for (const search of searches) paintSearch(ctx, search, x, y, height);
    ctx.globalAlpha = ctx.lineWidth = 1;
  }

  function paintSearch(ctx, search, x, y, height) {
    const from = x.at(search.step);
    if (search.start === null) {  // the loss at the start is unknown
      ctx.fillStyle = theme.soft;
      ctx.fillRect(from - 0.5, height - frame.bottom - 8, 1, 8);
      return;
    }
    const top = y.at(Number(search.start));
    const inOrder = search.branches.slice().sort((a, b) => a.kept - b.kept);  // the chosen one over the others
    for (const branch of inOrder) {
      const till = Math.max(from + 3, x.at(search.step + branch.steps));
      const level = branch.level === null ? null : y.at(Number(branch.level));
      ctx.globalAlpha = branch.kept ? 1 : 0.8;
      ctx.strokeStyle = ctx.fillStyle = branch.kept ? theme.ink : level === null ? theme.bad : theme.soft;
      ctx.lineWidth = branch.kept ? 2.5 : 1;
      if (level === null) {  // upwards by an unknown amount
        line(ctx, from, top, till, top - 10);
        mark(ctx, kFailed, till, top - 10, 3);
        places.push([till, top - 10, search, branch]);
        continue;
      }
      line(ctx, from, top, till, level);
      if (branch.kept) mark(ctx, kSucceeded, till, level, 3.5);
      places.push([till, level, search, branch]);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.ink;
    mark(ctx, kSucceeded, from, top, 2);
  }

  const finalLossText = (branch) =>
      (branch.level === null ? branch.trend : branch.fell ? `to ${fixed(Number(branch.level))}` : "did not fall");
  function pick(px, py) {
    let distance = 12 ** 2;
    over = null;
    for (const [x, y, search, branch] of places) {
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d < distance) [distance, over] = [d, {search, branch}];
    }
    return over ? shown : 0;
  }
  const describe = () =>
      [over.branch.with,
       `${plural(over.branch.steps, "step")} from step ${short(over.search.step)}, ${over.branch.trend}: ${
           finalLossText(over.branch)}`,
       over.branch.kept ? "the trial continued from it" : "given up"];

  const chosen = (search) => search.branches.find((branch) => branch.kept);
  const heads = ["epoch", "after step", "tried", "loss at start", "chosen", "steps", "final loss", "given up"];
  function table() {
    return el(
        "table", {class: "plain-table"},
        el("thead", {},
           el("tr", {}, heads.map((head, k) => el("th", {scope: "col", class: k === 4 ? null : "number"}, head)))),
        el("tbody", {}, source.searches[shown].searches.map((search) => {
          const kept = chosen(search);
          const cells = [
            short(search.epoch), short(search.step), short(search.tried),
            search.start === null ? "unknown" : fixed(Number(search.start)),
            kept ? isolated(kept.with) : "none: the setting stayed", kept ? short(kept.steps) : "",
            kept ? finalLossText(kept).replace(/^to /, "") : "", short(search.given_up)
          ];
          return el("tr", {}, cells.map((cell, k) => el("td", {class: k === 4 ? "words" : "number"}, cell)));
        })));
  }

  const title = el("p", {class: "caption"}), below = el("div", {class: "scroll", tabindex: 0});
  const chart = new Chart(
      "Branches of searches inside a trial. Arrow keys step through trials that searched.", 280,
      {paint, pick, describe, step: stepThrough(() => order)});
  function update() {
    shown = choose();
    title.replaceChildren(
        "Trial ", trialLink(shown),
        `: ${plural(source.searches[shown].searches.length, "search").replace("searchs", "searches")}.`);
    below.replaceChildren(table());
    chart.draw();
  }
  update();
  on("selection", update);
  const unknown = Object.values(source.searches).some(({searches}) => searches.some((search) => search.start === null));
  return section(
      "searches", "Searches inside trials",
      `${
          study.searches ??
          ""}. A stroke leads from the loss at the start of a branch to its final loss by slope. The chosen ` +
          `branch is bold; a cross marks a branch that diverged. If the loss of a branch did not fall, its stroke is ` +
          `level.` + (unknown ? " A tick at the bottom marks an unknown loss at the start." : ""),
      title, chart.node, below,
      dataTable(
          ["trial", "after step", "setting", "steps", "ended as", "final loss", "kept"],
          () => source.searches[shown].searches.flatMap(
              (search) => search.branches.map(
                  (branch) =>
                      [trialLink(shown), search.step, isolated(branch.with), branch.steps, branch.trend,
                       finalLossText(branch),
                       branch.kept ? "yes" : ""]))));
}
