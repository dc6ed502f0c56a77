// What a reader wants first: how it went, what won, where the winner lies, how to go on.

function tile(value, label, note) {
  return el(
      "div", {class: "tile"}, el("div", {class: "value"}, value), el("div", {class: "label"}, label),
      note && el("div", {class: "note"}, note));
}

function fact(name, value) {
  return value === "" || value === undefined ? [] : [el("dt", {}, name), el("dd", {}, value)];
}

function budgetText() {
  const {trials: count, steps, guard_minutes: minutes} = study.budget;
  const parts = [];
  if (count !== undefined) parts.push(plural(count, "trial"));
  if (steps !== undefined) parts.push(plural(steps, "training step"));
  if (minutes !== undefined) parts.push(`guard of ${minutes} min`);
  return parts.join(", ");
}

function epochsText() {
  const steps = study.trial_steps ? `, ${plural(study.trial_steps, "step")} in all,` : "";
  return plural(study.epochs, "epoch") + (study.steps_per_epoch ? ` of ${plural(study.steps_per_epoch, "step")}` : "") +
      steps;
}

function dataText() {
  const d = study.data;
  const parts = [];
  if (d.rows !== undefined) {
    const names = ["train", "validation", "test"];
    const split = Array.isArray(d.split_rows) && d.split_rows.length === 3 &&
        ` (${d.split_rows.map((count, k) => `${short(count)} ${names[k]}`).join(", ")})`;
    parts.push(`${short(d.rows)} rows${split || ""}`);
  }
  if (Array.isArray(d.features)) parts.push(`input ${d.features.join(" × ")}`);
  if (d.classes) parts.push(`${d.classes} classes`);
  if (d.licence) parts.push(d.licence);
  return [said(d.name ?? d.source ?? "unknown"), parts.length ? ` · ${parts.join(" · ")}` : ""];
}

function countsText() {
  return source.states.map((name, k) => [source.counts[k], name])
      .filter(([count]) => count > 0)
      .map(([count, name]) => `${short(count)} ${name}`)
      .join(" · ");
}

function winnerTiles() {
  const best = study.winner ? trials.rows.get(study.winner) : ranked[0];
  if (best === undefined) return [tile("–", "no trial has finished yet")];
  const id = trials.id[best];
  const tiles = study.goals.map(
      (goal, g) => tile(
          fixed(goalColumn(g).at(best)), goal.metric,
          g === 0 && `${study.winner ? "winner" : "best so far"}: trial #${id}`));
  for (const [name, value] of Object.entries(study.test)) {
    if (study.goals.some((goal) => goal.metric === name.replace(/^test_/, "val_"))) {
      tiles.push(tile(typeof value === "number" ? fixed(value) : value, name, "touched once, by the winner"));
    }
  }
  tiles.push(tile(compact(trials.parameters[best]), "parameters", trials.how.text(best) || baseName(best)));
  return tiles;
}

// What is in best/; of an ensemble its members and what they reach together.
function packageText() {
  if (!study.ensemble) return "model.onnx, weights.safetensors, package.json";
  const {members, validation, test} = study.ensemble;
  const goal = study.goals[0].metric, tested = goal.replace(/^val_/, "test_");
  const value = (of, name) => (typeof of[name] === "number" ? fixed(of[name]) : of[name] ?? "–");
  const shares = members.map(({trial, share}) => `#${trial} ${Math.round(100 * share)} %`).join(", ");
  return `an ensemble of ${shares}: ${goal} ${value(validation, goal)}, ${tested} ${value(test, tested)}`;
}

function makeOverview() {
  const ended = study.ended === null ? "not ended" : `ended: ${study.ended}`;
  const others =
      Object.entries(study.test).map(([name, value]) => `${name} ${typeof value === "number" ? fixed(value) : value}`);
  return el(
      "header", {id: "overview"}, el("p", {class: "brand"}, "lanista report"), el("h1", {}, said(study.name)),
      el("p", {class: "lead"},
         `${plural(source.proposed, "trial")}, ${plural(study.steps, "training step")}, ` +
             `${duration(study.seconds)} · `,
         said(ended)),
      liveNote(),
      el("div", {class: "tiles"}, winnerTiles()),
      el("dl", {class: "facts"}, fact("Trials", countsText()), fact("Data", dataText()),
         fact("Strategy", [said(study.strategy), ` · ${plural(study.slots, "slot")}`]),
         fact("Stopping rule", said(study.stop)),
         fact("Budget", `${budgetText()}; ${epochsText()} a trial, batch ${study.batch}`),
         fact("Base models", said(study.bases.join(", "))), fact("Seed", study.seed),
         fact("Test metrics", others.join(", ")), fact("Numerics", said(study.numerics.replace(/^: /, ""))),
         fact(
             "Time",
             `${duration(study.seconds)} worked` + (study.workers ? ` on ${plural(study.workers, "worker")}` : "")),
         fact(
             "Model package",
             el("span", {}, el("code", {}, "best/"),
                study.winner ? ` in the study's folder: ${packageText()}` :
                               " appears in the study's folder when the study ends")),
         fact(
             "To go on",
             el("span", {}, copyable(command("resume", study.folder)),
                " in the folder that holds the study's, as all commands here"))),
      !complete &&
          el("p", {class: "caption"},
             `This page holds ${short(trials.count)} of ${short(source.proposed)} trials: those that ` +
                 "set a record, the best 500, the first failures of every cause, and an even sample of the others. " +
                 "Counts and economy cover all."));
}
