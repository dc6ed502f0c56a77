// Trials in stages: the stage graph, and Gantt charts of a step, simulated above measured.

function makePipeline() {
  const steps = source.pipeline ?? [];
  if (steps.length === 0) return null;
  let shown = steps.find((step) => step.trial === study.winner) ?? steps[0];
  const times = (step, stage) =>
      (stage.simulated > 0 ? Number((stage.measured / stage.simulated).toPrecision(3)) : "–");
  const holder = el("div", {
    class: "scroll drawing",
    tabindex: 0,
    role: "group",
    "aria-label": "Drawing of the stages; the table below has their figures"
  });
  const charts = el("pre", {class: "gantt", tabindex: 0});
  const words = el("p", {class: "caption"});
  const picker =
      dropdown("Timed in trial", steps.map((step, k) => [k, `#${step.trial}`]), steps.indexOf(shown), (k) => {
        shown = steps[k];
        draw();
      });

  function stageBox(drawing, k) {
    const stage = shown.stages[k], [x, y] = drawing.at[k];
    const fit = (text) => (text.length > 27 ? `${text.slice(0, 26)}…` : text);
    return svg(
        "g", {class: "node same"}, svg("title", {}, `stage ${k}: ${stage.operators}`),
        svg("rect", {x: x - drawing.w / 2, y: y - drawing.h / 2, width: drawing.w, height: drawing.h, rx: 5}),
        svg("text", {x, y: y - 5, class: "op"}, `${k} at rank ${stage.places.join(", ")}: ${times(shown, stage)} ×`),
        svg("text", {x, y: y + 12, class: "attrs"}, fit(stage.operators)));
  }

  // A Gantt chart as text, with one colour for each kind of pass.
  function coloured(text) {
    return (text.match(/F+|[BI]+|W+|[^FBIW]+/g) ?? []).map((part) => {
      const kind = part[0] === "F" ? "forward" : part[0] === "W" ? "weights" : /[BI]/.test(part[0]) ? "backward" : null;
      return kind ? el("span", {class: kind}, part) : part;
    });
  }

  function draw() {
    const drawing = shown.drawing;
    holder.hidden = !drawing;
    if (drawing)
      holder.replaceChildren(layeredPicture("stages", drawing, shown.stages.map((_, k) => stageBox(drawing, k))));
    charts.replaceChildren(...coloured(shown.charts));
    words.textContent =
        `${plural(shown.stages.length, "stage")} on ${plural(shown.places, "rank")}. The passes of a step of ` +
        `${plural(shown.batch, "sample")} needed ${shown.measured.toPrecision(3)} ms` +
        (shown.ratio > 0 ?
             `, ${Number(shown.ratio.toPrecision(3))} times the simulated ${shown.simulated.toPrecision(3)} ms.` :
             ".");
  }

  draw();
  return section(
      "pipeline", "Pipeline stages",
      "Measured steps, one for each program, next to the simulated step of its plan. F: forward, B: backward " +
          "(I, W: its parts).",
      steps.length > 1 && el("div", {class: "controls"}, picker), words, holder, charts,
      dataTable(
          [
            "stage", "operators", "next", "micro-batch", "in flight", "simulated ms", "measured ms",
            "measured / simulated"
          ],
          () => shown.stages.map(
              (stage, k) =>
                  [k, isolated(`${stage.count}: ${stage.operators}`), stage.next.join(", "), stage.micro, stage.flight,
                   stage.simulated, stage.measured, times(shown, stage)])));
}
