// How good the winner is: its curves in training and validation, the baselines, and its predictions on the validation
// part: confused classes, or errors of numbers.

const real = (v) => typeof v === "number" ? v : {nan: NaN, inf: Infinity, "-inf": -Infinity}[v] ?? NaN;

// The values of a metric for the baselines.
function baselineLevels(metric) {
  return study.baselines.filter((b) => metric in b.metrics)
      .map((b) => ({name: b.name, value: real(b.metrics[metric])}));
}

function makeQuality() {
  const best = study.winner === null ? undefined : trials.rows.get(study.winner);
  if (best === undefined) return null;
  const quality = source.quality;
  const node = section(
      "quality", "How good the winner is", null, winnerCurves(best), baselineTable(best),
      quality ? assessedRows(quality) :
                el("p", {class: "caption after"}, "The results for single classes or numbers are not stored; ",
                   el("code", {}, command("resume", study.folder)), " computes them if the data are there."));
  return node;
}

// Loss, and the first goal if it is not the loss, in training and in validation.
function winnerCurves(best) {
  const curve = curves.get(trials.id[best]);
  if (!curve) return null;
  const names = trials.metrics.map((m) => m.name);
  const has = (name) => names.includes(name) && Array.from(curve.values[names.indexOf(name)]).some(Number.isFinite);
  const pairs = [["train_loss", "val_loss"].filter(has)];
  const goal = study.goals[0].metric;
  if (has(goal) && !pairs[0].includes(goal)) pairs.push([goal]);
  const series = (metrics) => metrics.map((name) => ({
    name: {train_loss: "training", val_loss: "validation"}[name] ?? name,
    epochs: curve.epochs,
    values: curve.values[names.indexOf(name)],
    kept: trials.kept[best],
  }));
  const shown = pairs.filter((metrics) => metrics.length > 0);
  if (shown.length === 0) return null;
  return el("div", {class: "curve-pair"}, shown.map((metrics) => {
    const isLoss = metrics[0].endsWith("_loss");
    const name = isLoss ? "loss" : metrics[0];
    const all = series(metrics);
    const chart = new EpochChart(
        `${name} of the winner by epoch`, 210, () => !isLoss && study.goals[0].maximize, () => ({name, all}),
        () => baselineLevels(isLoss ? "val_loss" : metrics[0]));
    return el(
        "div", {}, chart.node, isLoss ? seriesLegend(all.map((one) => one.name)) : null,
        dataTable(
            ["epoch", ...metrics],
            () => Array.from(curve.epochs, (epoch, k) => [epoch, ...all.map((one) => fixed(one.values[k]))])));
  }));
}

// The winner next to the baselines.
function baselineTable(best) {
  const metrics = trials.metrics.filter((m) => m.name.startsWith("val_") && m.has(best));
  if (study.baselines.length === 0 || metrics.length === 0) return null;
  const cell = (value) => el("td", {class: "number"}, Number.isNaN(value) ? "–" : fixed(value));
  const row = (name, of) => el("tr", {}, el("th", {scope: "row"}, name), metrics.map((m) => cell(of(m))));
  const words = {constant: "the same prediction for every row", linear: "a linear model", trees: "boosted trees"};
  return el(
      "div", {class: "scroll after"},
      el("table", {class: "plain-table"},
         el("thead", {},
            el("tr", {}, el("th", {scope: "col"}, "on the validation part"),
               metrics.map((m) => el("th", {scope: "col", class: "number"}, m.name.replace(/^val_/, ""))))),
         el("tbody", {}, row(`winner, trial #${trials.id[best]}`, (m) => m.at(best)),
            study.baselines.map((b) => row(isolated(words[b.name] ?? b.name), (m) => real(b.metrics[m.name]))))));
}

function assessedRows(quality) {
  let part = 0, output = 0;
  const body = el("div", {});
  const isNumbers = quality.classes === 0 && !quality.multilabel;
  const chart = isNumbers ? scatterOf(quality, () => [quality.parts[part], output]) : null;
  function show() {
    const of = quality.parts[part];
    body.replaceChildren(
        ...(quality.multilabel ? labelNodes(quality, of) :
                isNumbers      ? [residualTable(quality, of)] :
                                 classNodes(quality, of)));
    if (chart) chart.draw();
  }
  if (quality.parts.length === 0) return null;
  show();
  const outputs = isNumbers && quality.parts[0].residuals.length;
  const title = quality.multilabel ? "Results for each label" :
      isNumbers                    ? "Predicted and actual" :
                                     "Confusion of classes";
  return el(
      "div", {class: "after"}, el("h3", {}, title),
      el("div", {class: "controls"},
         quality.parts.length > 1 &&
             choices(
                 "Part", quality.parts.map((p, k) => [k, p.part]), 0,
                 (k) => {
                   part = k;
                   show();
                 }),
         outputs > 1 &&
             dropdown(
                 "Output", quality.parts[0].residuals.map((_, k) => [k, String(k)]), 0,
                 (k) => {
                   output = Number(k);
                   show();
                 })),
      chart && chart.node, body,
      chart &&
          dataTable(
              ["actual", "predicted", "difference"],
              () =>
                  pointsOf(quality, quality.parts[part], output).map(([a, p]) => [fixed(a), fixed(p), fixed(a - p)])));
}

// Classes of texts are bytes.
function className(quality, label) {
  const byte =
      String(study.data.source ?? "").startsWith("tokens:") && quality.classes <= 256 && label > 32 && label < 127;
  const name = quality.names[label] ?? (byte ? `“${String.fromCharCode(label)}”` : undefined);
  return name === undefined ? String(label) : [`${label} `, isolated(name)];
}

function percent(share) {
  return `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)} %`;
}

// Labels, of which a row may have several, worst first, with bars as long as the shares.
function labelNodes(quality, part) {
  const f1 = (c) => c.precision + c.recall > 0 ? 2 * c.precision * c.recall / (c.precision + c.recall) : 0;
  const share = (value) => {
    const node = el("td", {class: "number share"}, percent(value));
    node.style.backgroundSize = `${100 * value}% 100%`;
    return node;
  };
  const left = quality.outputs - part.labels.length;
  const words = [
    `${plural(part.rows, "row")} of the ${part.part} part`,
    part.lost ? `, ${short(part.lost)} without a prediction` : "",
    ". A row has a label if its probability is above a half. The lowest F1 comes first",
    left > 0 ? `; ${plural(left, "label")} with a higher one left out.` : ".",
  ].join("");
  const heads = ["label", "F1", "recall", "precision", "rows that have it"];
  return [
    el("p", {class: "caption"}, words),
    el("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": "F1, recall and precision of each label"},
       el("table", {class: "plain-table narrow labels"},
          el("thead", {}, el("tr", {}, heads.map((h, k) => el("th", {scope: "col", class: k ? "number" : null}, h)))),
          el("tbody", {}, part.labels.map((c) => el("tr", {}, el("th", {scope: "row"}, className(quality, c.label)),
             [f1(c), real(c.recall), real(c.precision)].map(share), el("td", {class: "number"}, short(c.rows))))))),
  ];
}

// Classes: the matrix, shaded by the share of the label's rows, with recall and precision; or the worst of many
// classes.
function classNodes(quality, part) {
  const n = quality.classes, known = part.rows - part.lost;
  const right = part.confusion.reduce((sum, count, k) => sum + (k % n === Math.floor(k / n) ? count : 0), 0);
  const words = [
    `${plural(part.rows, "row")} of the ${part.part} part`,
    part.lost ? `, ${short(part.lost)} without a prediction` : "",
    part.confusion.length ? `; ${short(right)} right, ${short(known - right)} wrong.` : ".",
  ].join("");
  const out = [el("p", {class: "caption"}, words)];
  if (part.confusion.length && n <= 20) {
    out.push(confusionMatrix(quality, part, n));
  } else {
    out.push(el(
        "div", {class: "scroll"},
        el("table", {class: "plain-table narrow"},
           el("thead", {},
              el("tr", {},
                 ["lowest recall", "rows", "recall", "precision"].map(
                     (h, k) => el("th", {scope: "col", class: k ? "number" : null}, h)))),
           el("tbody", {},
              part.classes.slice(0, 15).map((c) => el("tr", {}, el("th", {scope: "row"}, className(quality, c.label)), [
                                              short(c.rows), percent(real(c.recall)), percent(real(c.precision))
                                            ].map((t) => el("td", {class: "number"}, t))))))));
  }
  if (part.confused.length) {
    out.push(
        el("p", {class: "caption after"}, "Most frequent mistakes: ",
           part.confused.slice(0, 6).map(
               (c, k) =>
                   [k ? "; " : "", className(quality, c.label), " taken for ", className(quality, c.prediction),
                    ` (${short(c.rows)})`])));
  }
  return out;
}

function confusionMatrix(quality, part, n) {
  const whole = (share) => String(Math.round(100 * share));
  const scores = new Map(part.classes.map((c) => [c.label, c]));
  const precision = new Map(part.classes.map((c) => [c.label, real(c.precision)]));
  const heads = Array.from({length: n}, (_, j) => el("th", {scope: "col", class: "number"}, String(j)));
  const rows = Array.from({length: n}, (_, i) => {
    const score = scores.get(i), labelled = score ? score.rows : 0;
    const cells = Array.from({length: n}, (_, j) => {
      const count = part.confusion[i * n + j];
      const node = el(
          "td", {class: `number${i === j ? " right" : ""}`}, count ? short(count) : el("span", {class: "none"}, "·"));
      const share = labelled ? count / labelled : 0;
      // Mistakes are rare, so their shade grows with the square root.
      if (count)
        node.style.backgroundColor = `color-mix(in srgb, var(${i === j ? "--good" : "--bad"}) ${
            Math.round(8 + 60 * (i === j ? share : Math.sqrt(share)))}%, var(--paper))`;
      return node;
    });
    return el("tr", {}, el("th", {scope: "row"}, className(quality, i)), cells,
              el("td", {class: "number sum"}, score ? whole(real(score.recall)) : "–"));
  });
  const last = el("tr", {}, el("th", {scope: "row"}, "precision, %"), Array.from({length: n}, (_, j) =>
      el("td", {class: "number sum"}, precision.has(j) ? whole(precision.get(j)) : "–")), el("td", {}));
  return el(
      "div", {
        class: "scroll",
        tabindex: 0,
        role: "group",
        "aria-label": "Confusion matrix: a row for each label, a column for each prediction"
      },
      el("table", {class: "confusion"},
         el("thead", {},
            el("tr", {}, el("th", {scope: "col"}, el("span", {}, "label ↓ predicted →")), heads,
               el("th", {scope: "col", class: "number"}, "recall, %"))),
         el("tbody", {}, rows, last)));
}

function pointsOf(quality, part, output) {
  const shown = part.residuals.length, out = [];
  for (let k = output; k < part.actual.length; k += shown) out.push([real(part.actual[k]), real(part.predicted[k])]);
  return out;
}

function scatterOf(quality, what) {
  let places = [];
  function paint(ctx, width, height) {
    places = [];
    const [part, output] = what();
    const points = pointsOf(quality, part, output).filter(([a, p]) => Number.isFinite(a) && Number.isFinite(p));
    if (points.length === 0) return emptyChart(ctx, width, height, "There is no prediction to show.");
    const all = points.flat(), lo = Math.min(...all), hi = Math.max(...all), pad = (hi - lo) * 0.03;
    const x = makeScale(lo - pad, hi + pad, frame.left, width - frame.right, false);
    const y = makeScale(lo - pad, hi + pad, height - frame.bottom, frame.top, false);
    drawAxes(ctx, width, height, x, y, "actual", "predicted");
    ctx.strokeStyle = theme.soft;
    ctx.setLineDash([4, 4]);
    line(ctx, x.at(x.lo), y.at(x.lo), x.at(x.hi), y.at(x.hi));
    ctx.setLineDash([]);
    ctx.fillStyle = theme.accent;
    ctx.globalAlpha = 0.55;
    for (const [a, p] of points) {
      mark(ctx, kSucceeded, x.at(a), y.at(p), 3);
      places.push([x.at(a), y.at(p), {a, p}]);
    }
    ctx.globalAlpha = 1;
  }
  const chart = new Chart("Predictions over actual values; on the dashed line both are equal", 320, {paint});
  chart.canvas.addEventListener("pointermove", (event) => {
    const box = chart.canvas.getBoundingClientRect();
    const at = nearest(places, event.clientX - box.left, event.clientY - box.top, 10);
    if (at)
      showBubble(
          event.clientX, event.clientY,
          [`actual ${fixed(at.a)}`, `predicted ${fixed(at.p)}`, `off by ${fixed(at.p - at.a)}`]);
    else hideBubble();
  });
  chart.canvas.addEventListener("pointerleave", hideBubble);
  return chart;
}

function residualTable(quality, part) {
  const heads =
      [...(part.residuals.length > 1 ? ["output"] : []), "mean", "deviation", ...quality.percents.map((p) => `${p} %`)];
  const rows = part.residuals.map(
      (r, k) =>
          el("tr", {}, part.residuals.length > 1 ? el("th", {scope: "row"}, String(k)) : null,
             [r.mean, r.spread, ...r.quantiles].map((v) => el("td", {class: "number"}, fixed(real(v))))));
  const numShown = part.actual.length / Math.max(1, part.residuals.length);
  const more =
      quality.outputs > part.residuals.length ? ` Outputs beyond the first ${part.residuals.length} are left out.` : "";
  return el(
      "div", {},
      el("p", {class: "caption"},
         `The chart shows ${short(numShown)} of ${plural(part.rows, "row")} of the ${part.part} part`,
         part.lost ? `; ${short(part.lost)} have no prediction` : "",
         `. Below: actual minus predicted over all of them, with quantiles.${more}`),
      el("div", {class: "scroll"},
         el("table", {class: "plain-table"},
            el("thead", {}, el("tr", {}, heads.map((h) => el("th", {scope: "col", class: "number"}, h)))),
            el("tbody", {}, rows))));
}
