// Studies side by side: results, curves of the best values, and settings that differ.

const source = JSON.parse(document.getElementById("data").textContent);
// The selection that charts read. Nothing can be selected on this page.
const state = {selected: 0};
function select() {}

function curveOf(of, measure) {
  const {trial, trainings, seconds, value} = of.best[measure].curve;
  return value.map(
      (v, k) => ({trial: trial[k], trainings: trainings[k], seconds: Number(seconds[k]), value: Number(v)}));
}

function makeResults() {
  const number = (text) => el("td", {class: "number"}, text);
  const heads = [
    ["", false], ["study", false],
    ...source.measures.flatMap((m) => [[`best ${m.metric}`, true], ["trial", true]]), ["test", false], ["trials", true],
    ["trained", true], ["failed", true], ["steps", true], ["time", true], ["strategy", false], ["", false]
  ];
  const rows = source.studies.map(
      (of, k) => el(
          "tr", {}, el("td", {}, swatch(k)), el("th", {scope: "row"}, isolated(of.name)),
          of.best.flatMap(
              (b) =>
                  [number(b.value === null ? "–" : fixed(Number(b.value))),
                   number(b.trial === null ? "" : `#${b.trial}`)]),
          el("td", {}, isolated(Object.entries(of.test).map(([name, v]) => `${name} ${fixed(Number(v))}`).join(", "))),
          number(short(of.trials)), number(short(of.trainings)), number(short(of.failed)), number(compact(of.steps)),
          number(duration(Number(of.seconds))), el("td", {}, isolated(of.strategy)),
          el("td", {}, of.ended === null ? "not ended" : "")));
  return section(
      "results", "Results", null,
      el("div", {class: "scroll"},
         el("table", {class: "plain-table"},
            el("thead", {},
               el("tr", {},
                  heads.map(([text, right]) => el("th", {scope: "col", class: right ? "number" : null}, text)))),
            el("tbody", {}, rows))),
      source.notes.map((note) => el("p", {class: "caption after"}, isolated(note))));
}

function makeCurves() {
  if (source.measures.length === 0) return null;
  let measure = 0, by = "trainings", places = [];
  const names = {trainings: "trainings that ended", seconds: "worked seconds"};
  const ends = {trainings: (of) => of.trainings, seconds: (of) => Number(of.seconds)};

  function paint(ctx, width, height) {
    places = [];
    const all = source.studies.map((of) => curveOf(of, measure));
    const {metric, maximize} = source.measures[measure];
    const range = robustRange(all.flat().map((step) => step.value), maximize);
    if (!range) return emptyChart(ctx, width, height, "No study has measured it yet.");
    const last = Math.max(1, ...source.studies.map(ends[by]).filter(Number.isFinite));
    const x = makeScale(0, last, frame.left, width - frame.right, false);
    const y = robustScale(range, height - frame.bottom, frame.top);
    drawAxes(ctx, width, height, x, y, names[by], axisName(metric, range));
    all.forEach((steps, k) => {
      const {colour, dash} = seriesStyle(k);
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = 2;
      ctx.setLineDash(dash);
      ctx.beginPath();
      let before = null;
      for (const step of steps) {
        if (!Number.isFinite(step.value) || !Number.isFinite(step[by])) continue;
        const px = x.at(step[by]), py = y.at(step.value);
        if (before === null)
          ctx.moveTo(px, py);
        else
          ctx.lineTo(px, before);
        ctx.lineTo(px, py);
        before = py;
        places.push([px, py, {study: source.studies[k].name, step, metric}]);
      }
      const end = ends[by](source.studies[k]);
      if (before !== null && Number.isFinite(end)) ctx.lineTo(x.at(end), before);
      ctx.stroke();
    });
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
  }

  const chart = new Chart("The best value so far of each study", 360, {
    paint,
    pick: (px, py) => nearest(places, px, py, 14),
    describe: ({study, step, metric}) =>
        [study, `${metric} ${fixed(step.value)}`,
         `trial #${step.trial}, training ${short(step.trainings)}, ${duration(step.seconds)}`],
  });
  return section(
      "curves", "Best so far",
      "The best value up to each moment. A line ends where its study is now, or where it ended.",
      el("div", {class: "controls"},
         choices(
             "Over", Object.entries(names), by,
             (key) => {
               by = key;
               chart.draw();
             }),
         source.measures.length > 1 &&
             dropdown(
                 "Metric", source.measures.map((m, k) => [k, m.metric]), 0,
                 (k) => {
                   measure = Number(k);
                   chart.draw();
                 })),
      chart.node,
      el("ul", {class: "legend series"}, source.studies.map((of, k) => el("li", {}, swatch(k), isolated(of.name)))),
      dataTable(
          ["study", "trainings", "worked seconds", "trial", "best"],
          () => source.studies.flatMap(
              (of) => curveOf(of, measure)
                          .map((s) => [isolated(of.name), s.trainings, s.seconds, `#${s.trial}`, fixed(s.value)]))));
}

function makeEffort() {
  if (source.measures.length === 0 || source.trainings.length === 0) return null;
  const cell = (v) => el("td", {class: "number"}, v === null ? "–" : fixed(Number(v)));
  return section(
      "effort", "At equal effort", "The best value after a quarter, half and all of the length of the shortest study.",
      source.measures.map(
          (m, k) =>
              el("div", {class: "scroll"}, source.measures.length > 1 && el("h3", {}, isolated(m.metric)),
                 el("table", {class: "plain-table"},
                    el("thead", {},
                       el("tr", {}, el("th", {scope: "col"}, "study"),
                          source.trainings.map((t) => el("th", {scope: "col", class: "number"}, plural(t, "training"))),
                          source.seconds.map((s) => el("th", {scope: "col", class: "number"}, duration(s))))),
                    el("tbody", {},
                       source.studies.map(
                           (of) =>
                               el("tr", {}, el("th", {scope: "row"}, isolated(of.name)),
                                  of.best[k].after_trainings.map(cell), of.best[k].after_seconds.map(cell))))))));
}

function makeDifferences() {
  const none = source.differences.length === 0;
  return section(
      "differences", "Settings that differ", none ? "None: the study files have equal settings." : null,
      none ? null : el("div", {class: "scroll"},
         el("table", {class: "plain-table"},
            el("thead", {}, el("tr", {}, el("th", {scope: "col"}, "setting"),
                               source.studies.map((of) => el("th", {scope: "col"}, isolated(of.name))))),
            el("tbody", {}, source.differences.map(
                (d) => el("tr", {}, el("th", {scope: "row"}, isolated(d.key)),
                          d.values.map((v) => el("td", {class: "words"}, v === "" ? "–" : isolated(v)))))))));
}

document.title = "Studies compared · lanista";
readTheme();
document.getElementById("page").append(
    el("header", {id: "overview"}, el("p", {class: "brand"}, "lanista compare"),
       el("h1", {}, `${source.studies.length} studies compared`),
       el("p", {class: "lead"},
          source.measures.length ? `By ${
                                       source.measures.slice(0, 4)
                                           .map((m) => `${m.metric} (${m.maximize ? "more" : "less"} is better)`)
                                           .join(", ")}${source.measures.length > 4 ? ", …" : ""}` :
                                   "They share no metric")),
    el("div", {class: "stories"},
       [makeResults(), makeCurves(), makeEffort(), makeDifferences()].filter((part) => part !== null)),
    el("footer", {},
       el("p", {}, `Written by lanista ${source.version}. This page needs no other file and no network.`)),
    bubble);
requestAnimationFrame(() => requestAnimationFrame(() => {
                        document.documentElement.dataset.rendered = String(Math.round(performance.now()));
                      }));
