// The overview: outcome, winner, its files, and the next commands.

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
  return [isolated(d.name ?? d.source ?? "unknown"), parts.length ? ` · ${parts.join(" · ")}` : ""];
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
      tiles.push(tile(typeof value === "number" ? fixed(value) : value, name, "measured once, for the winner"));
    }
  }
  tiles.push(tile(compact(trials.parameters[best]), "parameters", trials.how.text(best) || baseName(best)));
  return tiles;
}

// The content of best/. For an ensemble, or trainings on folds, the members and their joint metrics.
function packageText() {
  if (!study.ensemble) return "model.onnx, weights.safetensors, package.json";
  const {members, validation, test} = study.ensemble;
  const goal = study.goals[0].metric, tested = goal.replace(/^val_/, "test_");
  const value = (of, name) => (typeof of[name] === "number" ? fixed(of[name]) : of[name] ?? "–");
  const shares = members.map(({trial, share}) => `#${trial} ${Math.round(100 * share)} %`).join(", ");
  // With folds, only the rows of the test part are unseen by all trainings.
  const reached = [[goal, validation], [tested, test]].filter(([name, of], k) => k > 0 || name in of)
      .map(([name, of]) => `${name} ${value(of, name)}`);
  return `an ensemble of ${shares}: ${reached.join(", ")}`;
}

// A sentence that compares the winner with the best baseline.
function baselineText() {
  const levels = baselineLevels(study.goals[0].metric).filter((level) => Number.isFinite(level.value));
  if (levels.length === 0) return "";
  const top = study.unbeaten ? {name: study.unbeaten.baseline, value: real(study.unbeaten.value)} :
                               levels.reduce((a, b) => better(0, b.value, a.value) ? b : a);
  const name = {
    constant: "the same prediction for every row",
    linear: "a linear model",
    trees: "boosted trees",
  }[top.name] ?? top.name;
  const reach = `${name} ${top.name === "trees" ? "reach" : "reaches"} ${fixed(top.value)}.`;
  if (!study.unbeaten) return ` ${reach[0].toUpperCase()}${reach.slice(1)}`;
  return ` That is not better than a baseline${study.unbeaten.better ? "" : ", within the noise"}: ${reach}`;
}

// One sentence with the main result.
function resultText() {
  const best = study.winner ? trials.rows.get(study.winner) : ranked[0];
  const all = plural(source.proposed, "trial");
  if (source.proposed === 0) return "No trial has begun yet.";
  if (best === undefined) {
    const [first] = source.failures;
    const whole = study.ended === null ? `None of ${all} has finished yet.` : `None of ${all} gave a model.`;
    return [whole, first && [" Most fail for: ", isolated(first.cause), "."]];
  }
  const goals =
      study.goals.map((goal, g) => `${goal.metric} ${goalColumn(g).has(best) ? fixed(goalColumn(g).at(best)) : "–"}`)
          .join(", ");
  const tests = Object.entries(study.test)
                    .filter(([name]) => study.goals.some((goal) => goal.metric === name.replace(/^test_/, "val_")));
  const test = tests.map(([name, value]) => `${name} ${typeof value === "number" ? fixed(value) : value}`).join(", ");
  const lead = study.winner ? `The best of ${all} is ` : `So far the best of ${all} is `;
  return [
    lead, trialLink(trials.id[best]), `, with `, isolated(goals), test && [" and, on the test part, ", isolated(test)],
    ".", baselineText()
  ];
}

// The lineage of the winner's weights, one row a stretch of training, if it continued from states of other trials.
function lineageText() {
  if (!study.line) return "";
  const rows = study.line.map(({trial, from, through, with: settings}) =>
      el("tr", {}, [el("td", {}, from === through ? `epoch ${from}` : `epochs ${from}–${through}`),
                    el("td", {}, trialLink(trial)), el("td", {}, isolated(settings))]));
  return el("table", {class: "line"}, rows);
}

// The next commands.
function nextCommands() {
  const best = study.winner ?? (ranked.length ? trials.id[ranked[0]] : 0);
  const more = study.ended === "budget" && study.budget.trials ? ` --trials ${study.budget.trials}` : "";
  const lines = [];
  if (study.winner) lines.push(["use it", `${command("predict", study.folder)} FILE`]);
  if (best) lines.push(["see it", command("show", `${study.folder}#${best}`)]);
  lines.push([study.ended === null ? "continue" : "try more", command("resume", study.folder) + more]);
  return el("dl", {class: "next"}, lines.map(([name, text]) => [el("dt", {}, name), el("dd", {}, copyable(text))]));
}

function makeOverview() {
  const ended = study.ended === null ? "not ended" : `ended: ${study.ended}`;
  const others =
      Object.entries(study.test).map(([name, value]) => `${name} ${typeof value === "number" ? fixed(value) : value}`);
  return el(
      "header", {id: "overview"}, el("p", {class: "brand"}, "lanista report"), el("h1", {}, isolated(study.name)),
      el("p", {class: "found"}, resultText()),
      el("p", {class: "lead"},
         `${plural(source.proposed, "trial")}, ${plural(study.steps, "training step")}, ` +
             `${duration(study.seconds)} · `,
         isolated(ended)),
      liveNote(), el("div", {class: "tiles"}, winnerTiles()), nextCommands(),
      el("details", {class: "settings"}, el("summary", {}, "Data and settings"),
         el("dl", {class: "facts"}, fact("Trials", countsText()), fact("Data", dataText()),
            fact("Strategy", [isolated(study.strategy), ` · ${plural(study.slots, "slot")}`]),
            fact("Zoo", study.zoo ? isolated(study.zoo) : ""), fact("Starts", study.races ? isolated(study.races) : ""),
            fact("Examples", study.selecting ? isolated(study.selecting) : ""),
            fact(
                "Imported",
                study.earlier ?
                    [
                      `${plural(study.earlier.trials, "trial")} of `, isolated(study.earlier.study),
                      study.earlier.left_out ? `; ${short(study.earlier.left_out)} did not fit` : ""
                    ] :
                    ""),
            fact("The winner's lineage", lineageText()), fact("Stopping rule", isolated(study.stop)),
            fact("Budget", `${budgetText()}; ${epochsText()} a trial, batch ${study.batch}`),
            fact("Base models", isolated(study.bases.join(", "))), fact("Seed", study.seed),
            fact("Test metrics", others.join(", ")), fact("Numerics", isolated(study.numerics.replace(/^: /, ""))),
            fact(
                "Time",
                `${duration(study.seconds)} worked` + (study.workers ? ` on ${plural(study.workers, "worker")}` : "")),
            fact(
                "Model package",
                el("span", {}, el("code", {}, "best/"),
                   study.winner ? ` in the study's folder: ${packageText()}` :
                                  " appears in the study's folder when the study ends")),
            fact("Commands", "are for the parent folder of the study"))),
      !complete &&
          el("p", {class: "caption"},
             `This page has ${short(trials.count)} of ${short(source.proposed)} trials: those that ` +
                 "set a record, the best 500, the first failures of every cause, and an even sample of the others. " +
                 "Counts and economy cover all trials."));
}
