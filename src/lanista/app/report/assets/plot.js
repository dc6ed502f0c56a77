// Canvases that follow size, colours and paper; scales, axes, marks.

let theme = {};
function readTheme() {
  const css = getComputedStyle(document.documentElement);
  for (const name
           of ["ink", "soft", "faint", "rule", "ground", "paper", "accent", "good", "warn", "bad", "far", "near"]) {
    theme[name] = css.getPropertyValue(`--${name}`).trim();
  }
  theme.stateColours = [
    theme.warn, theme.good, theme.accent, theme.bad, theme.soft, theme.faint, theme.soft, theme.faint
  ];
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  theme.ramp = Array.from({length: 12}, (_, step) => {
    const mix =
        [0, 1, 2].map((k) => Math.round(part(theme.far, k) + (part(theme.near, k) - part(theme.far, k)) * step / 11));
    return `rgb(${mix.join(",")})`;
  });
}

const allCharts = [];
function redrawAll() {
  readTheme();
  for (const chart of allCharts) chart.draw();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
for (const [event, paper] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    document.documentElement.classList.toggle("paper", paper);
    redrawAll();
  });
}

// A canvas of a given height and the width of its parent. `paint(ctx, width, height)` draws; `pick(x, y)` gives the
// trial at a place, `describe(id)` the lines of its bubble, `step(id, by)` the next trial for the arrow keys.
class Chart {
  constructor(label, height, {paint, pick, describe, step}) {
    this.height = height;
    this.paint = paint;
    this.canvas = el("canvas", {"aria-hidden": "true"});
    this.node =
        el("div", {class: "chart", tabindex: step ? 0 : null, role: step ? "application" : "img", "aria-label": label},
           this.canvas);
    if (pick) this.listen(pick, describe ?? describeTrial);
    if (step) {
      this.node.addEventListener("keydown", (event) => {
        const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
        if (by === undefined) return;
        event.preventDefault();
        const id = step(state.selected, by);
        if (id) select(id);
      });
    }
    allCharts.push(this);
    // Also called once at the start. The height is set here.
    let width = 0;
    new ResizeObserver(() => {
      if (this.node.clientWidth === width) return;
      width = this.node.clientWidth;
      this.draw();
    }).observe(this.node);
  }
  listen(pick, describe) {
    const found = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return pick(event.clientX - box.left, event.clientY - box.top);
    };
    this.canvas.addEventListener("click", (event) => {
      const id = found(event);
      if (id) select(id);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const id = event.buttons ? 0 : found(event);
      this.canvas.style.cursor = id ? "pointer" : "";
      if (id)
        showBubble(event.clientX, event.clientY, describe(id));
      else
        hideBubble();
    });
    this.canvas.addEventListener("pointerleave", hideBubble);
  }
  draw() {
    const width = this.node.clientWidth, height = typeof this.height === "function" ? this.height() : this.height;
    if (width === 0) return;
    const ratio = Math.max(1, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const ctx = this.canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    ctx.lineJoin = "round";
    this.paint(ctx, width, height);
  }
}

function describeTrial(id) {
  const i = trials.rows.get(id);
  if (i === undefined) return [`#${id}`];
  const values =
      study.goals.map((goal, g) => goalColumn(g).has(i) ? `${goal.metric} ${fixed(goalColumn(g).at(i))}` : "");
  return [`#${id}  ${stateName(i)}`, ...values.filter((v) => v), trials.how.text(i) || baseName(i)];
}

// A scale from values to pixels. Logarithmic only where all values allow it.
function makeScale(lo, hi, from, to, log) {
  if (!(hi > lo)) {
    const pad = log ? 1 : Math.max(Math.abs(lo) * 0.05, 0.5);
    [lo, hi] = log ? [lo / 2, hi * 2] : [lo - pad, hi + pad];
  }
  const f = log ? Math.log10 : (v) => v;
  const span = f(hi) - f(lo);
  const at = (v) => from + (f(v) - f(lo)) / span * (to - from);
  const value = (px) => {
    const t = f(lo) + (px - from) / (to - from) * span;
    return log ? 10 ** t : t;
  };
  return {at, value, lo, hi, log, ticks: log ? logTicks(lo, hi) : linearTicks(lo, hi, Math.abs(to - from) / 60)};
}

function linearTicks(lo, hi, wanted) {
  const rough = (hi - lo) / Math.max(2, Math.min(wanted, 8));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9 && out.length < 20; ++k) {
    out.push(Number((k * step).toPrecision(12)));
  }
  return out;
}

function logTicks(lo, hi) {
  const out = [];
  const decades = Math.log10(hi / lo);
  const digits = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  for (let k = Math.floor(Math.log10(lo)); k <= Math.ceil(Math.log10(hi)) && out.length < 30; ++k) {
    for (const d of digits) {
      const v = d * 10 ** k;
      if (v >= lo * 0.999 && v <= hi * 1.001) out.push(v);
    }
  }
  return out.length >= 2 ? out : [lo, hi];
}

function tickText(value) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e3)) return String(Number(value.toPrecision(4)));
  if (size >= 1e3 && size < 1e12) return (value < 0 ? "−" : "") + compact(size).replace(" ", "");
  return value.toExponential(0).replace("e+", "e");
}

const frame = {
  left: 56,
  right: 14,
  top: 22,
  bottom: 40
};

// Horizontal lines with the values of the vertical axis.
function drawGrid(ctx, width, y) {
  ctx.strokeStyle = theme.rule;
  ctx.lineWidth = 1;
  ctx.fillStyle = theme.soft;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const tick of y.ticks) {
    const at = Math.round(y.at(tick)) + 0.5;
    line(ctx, frame.left, at, width - frame.right, at);
    ctx.fillText(tickText(tick), frame.left - 8, at);
  }
}

// Grid, ticks and names of both axes.
function drawAxes(ctx, width, height, x, y, xName, yName) {
  const bottom = height - frame.bottom;
  drawGrid(ctx, width, y);
  ctx.textBaseline = "top";
  ctx.textAlign = "center";
  for (const tick of x.ticks) ctx.fillText(tickText(tick), x.at(tick), bottom + 7);
  ctx.fillStyle = theme.ink;
  ctx.textAlign = "right";
  ctx.fillText(xName, width - frame.right, bottom + 23);
  ctx.textAlign = "left";
  ctx.fillText(clip(ctx, yName, width / 2), frame.left + 6, 0);
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

function clip(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let keep = text.length;
  while (keep > 1 && ctx.measureText(`${text.slice(0, keep)}…`).width > width) keep = Math.floor(keep * 0.9);
  return `${text.slice(0, keep)}…`;
}

// States differ in shape as well as in colour.
function mark(ctx, kind, x, y, size) {
  ctx.beginPath();
  if (kind === kFailed) {
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x - size, y + size);
    ctx.lineTo(x + size, y - size);
    ctx.stroke();
  } else if (kind === kDuplicate || kind === kCancelled) {
    ctx.rect(x - size, y - size, 2 * size, 2 * size);
    ctx.stroke();
  } else if (kind === kRunning) {
    ctx.moveTo(x, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.lineTo(x - size, y + size);
    ctx.closePath();
    ctx.fill();
  } else {
    ctx.arc(x, y, size, 0, 2 * Math.PI);
    if (kind === kStopped)
      ctx.stroke();
    else
      ctx.fill();
  }
}

function ring(ctx, x, y) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x, y, 7, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.lineWidth = 1;
}

// The range of the finite values of a chart. A few very bad values do not compress the others. The range is logarithmic
// for metrics to minimise that spread over decades.
function robustRange(values, maximize) {
  const finite = Float64Array.from(values.filter(Number.isFinite)).sort(), n = finite.length;
  if (n === 0) return null;
  const cut = n > 40 ? Math.floor(n * 0.03) : 0;
  let lo = maximize ? finite[cut] : finite[0], hi = maximize ? finite[n - 1] : finite[n - 1 - cut];
  if (!maximize && lo > 0 && hi / lo > 50) {
    const pad = (hi / lo) ** 0.05;
    return {lo: lo / pad, hi: hi * pad, log: true};
  }
  const low = finite[Math.floor(n / 4)], high = finite[Math.floor(3 * n / 4)], reach = 3 * (high - low);
  if (n > 8 && reach > 0) {  // Tukey's "far out"
    lo = maximize ? Math.max(lo, low - reach) : lo;
    hi = maximize ? hi : Math.min(hi, high + reach);
  }
  const pad = (hi - lo) * 0.05;
  return {lo: lo - pad, hi: hi + pad, log: false};
}

// The scale of such a range; values outside are at its edges.
function robustScale(range, from, to) {
  const scale = makeScale(range.lo, range.hi, from, to, range.log);
  const [near, far] = [Math.min(from, to), Math.max(from, to)];
  const at = scale.at;
  scale.at = (v) => Math.max(near, Math.min(far, at(range.log ? Math.max(v, scale.lo) : v)));
  return scale;
}

function axisName(name, range) {
  return range.log ? `${name} (logarithmic)` : name;
}

// The nearest of some points within reach: places are [x, y, trial].
function nearest(places, x, y, reach) {
  let best = 0, distance = reach * reach;
  for (const [px, py, id] of places) {
    const d = (px - x) ** 2 + (py - y) ** 2;
    if (d < distance) [best, distance] = [id, d];
  }
  return best;
}

function stepThrough(order) {
  return (id, by) => {
    const ids = order();
    const at = ids.indexOf(id);
    return at < 0 ? ids[0] : ids[Math.max(0, Math.min(ids.length - 1, at + by))];
  };
}

function legend(...entries) {
  return el("ul", {class: "legend"}, entries.map(([kind, text]) => {
    const canvas = el("canvas", {"aria-hidden": "true", width: 28, height: 28});
    const drawing = {
      draw() {
        const ctx = canvas.getContext("2d");
        ctx.clearRect(0, 0, 28, 28);
        ctx.fillStyle = ctx.strokeStyle = theme.stateColours[kind];
        ctx.lineWidth = 3;
        mark(ctx, kind, 14, 14, 7);
      }
    };
    drawing.draw();
    allCharts.push(drawing);
    return el("li", {}, canvas, text);
  }));
}

function emptyChart(ctx, width, height, text) {
  ctx.fillStyle = theme.soft;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(text, width / 2, height / 2);
}
