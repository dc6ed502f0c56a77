// Several series in one chart, with different colours and dashes and a legend; curves over epochs.

const kDashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

function seriesStyle(k) {
  const colours = [theme.accent, theme.warn, theme.good, theme.bad, theme.ink, theme.soft];
  return {colour: colours[k % colours.length], dash: kDashes[Math.floor(k / colours.length) % kDashes.length]};
}

function swatch(k) {
  const canvas = el("canvas", {"aria-hidden": "true", width: 44, height: 28});
  const drawing = {
    draw() {
      const ctx = canvas.getContext("2d"), {colour, dash} = seriesStyle(k);
      ctx.clearRect(0, 0, 44, 28);
      ctx.strokeStyle = colour;
      ctx.lineWidth = 4;
      ctx.setLineDash(dash.map((d) => 2 * d));
      line(ctx, 0, 14, 44, 14);
    }
  };
  drawing.draw();
  allCharts.push(drawing);
  return canvas;
}

function seriesLegend(names) {
  return el("ul", {class: "legend series"}, names.map((name, k) => el("li", {}, swatch(k), isolated(name))));
}

// Curves of a few series, [{name, epochs, values, kept}], over epochs; `kept` is the selected epoch, and `lines` are
// the values of baselines, [{name, value}]. A chart with few epochs has a mark at each.
class EpochChart extends Chart {
  constructor(label, height, maximize, series, lines) {
    super(label, height, {paint: (ctx, w, h) => this.paintSeries(ctx, w, h)});
    Object.assign(this, {maximize, series, lines: lines ?? (() => [])});
  }
  paintSeries(ctx, width, height) {
    const {name, all} = this.series();
    const range = robustRange(all.flatMap((one) => Array.from(one.values)), this.maximize(name));
    if (!range) return emptyChart(ctx, width, height, "Nothing has been measured.");
    const levels = levelsInReach(range, this.lines(), 4);
    const last = Math.max(1, ...all.flatMap((one) => Array.from(one.epochs)));
    const x = makeScale(Math.min(1, last - 1), last, frame.left, width - frame.right, false);
    const y = robustScale(range, height - frame.bottom, frame.top);
    x.ticks = x.ticks.filter(Number.isInteger);
    if (!range.log) y.ticks = linearTicks(range.lo, range.hi, 4);
    drawAxes(ctx, width, height, x, y, "epoch", axisName(name, range));
    drawLevels(ctx, width, y, levels);
    all.forEach((one, k) => this.paintOne(ctx, one, seriesStyle(k), x, y));
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
  }
  paintOne(ctx, {epochs, values, kept}, {colour, dash}, x, y) {
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = 2;
    ctx.setLineDash(dash);
    ctx.beginPath();
    let pen = false;
    values.forEach((value, k) => {
      if (Number.isFinite(value)) ctx[pen ? "lineTo" : "moveTo"](x.at(epochs[k]), y.at(value));
      pen = Number.isFinite(value);
    });
    ctx.stroke();
    ctx.setLineDash([]);
    values.forEach((value, k) => {
      if (!Number.isFinite(value)) return;
      if (values.length <= 40) mark(ctx, kSucceeded, x.at(epochs[k]), y.at(value), 2.5);
      if (epochs[k] !== kept) return;
      ctx.lineWidth = 1.5;
      mark(ctx, kStopped, x.at(epochs[k]), y.at(value), 6);
    });
  }
}

// The baselines that a chart shows. Its range grows for a baseline that is a few spans outside, but not for others.
function levelsInReach(range, levels, reach) {
  const {lo, hi} = range, f = range.log ? Math.log : (v) => v, span = f(hi) - f(lo);
  const near = levels.filter(
      ({value}) => Number.isFinite(value) && !(range.log && value <= 0) && f(value) >= f(lo) - reach * span &&
          f(value) <= f(hi) + reach * span);
  for (const {value} of near) {
    range.lo = Math.min(range.lo, range.log ? value / 1.1 : value - 0.03 * span);
    range.hi = Math.max(range.hi, range.log ? value * 1.1 : value + 0.03 * span);
  }
  return near;
}

// Lines of baselines with their names at the right; names of close lines alternate.
function drawLevels(ctx, width, y, levels) {
  ctx.save();
  ctx.setLineDash([2, 3]);
  ctx.strokeStyle = ctx.fillStyle = theme.soft;
  ctx.textBaseline = "bottom";
  let before = Infinity, left = false;
  for (const {name, value} of levels.slice().sort((a, b) => y.at(a.value) - y.at(b.value))) {
    const at = y.at(value);
    line(ctx, frame.left, at, width - frame.right, at);
    left = Math.abs(at - before) < 14 && !left;
    before = at;
    ctx.textAlign = left ? "left" : "right";
    ctx.fillText(name, left ? frame.left + 6 : width - frame.right - 4, at - 2);
  }
  ctx.restore();
}
