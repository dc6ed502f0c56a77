// Costs of the study, savings, and failures.

function makeEconomy() {
  const e = source.economy;
  const counterfactual = [
    [
      "Early stopping", e.early_stop,
      e.early_stop.trials ?
          `${plural(e.early_stop.trials, "trial")} stopped ${plural(e.early_stop.epochs, "epoch")} before their ` +
              "budget. Compared with a training of each to its budget, at its own pace." :
          "No trial was stopped early."
    ],
    [
      "Duplicates", e.dedup,
      e.dedup.trials ?
          `${plural(e.dedup.trials, "trial")} had the result of an equal trial. Compared with a training of each, ` +
              "at the cost of the equal trial." :
          "No trial was equal to an earlier one."
    ],
    [
      "Training together", null,
      e.together.trials ?
          `${plural(e.together.trials, "trial")} shared steps with others, up to ${
              e.together.lanes} in one program. This saving is not estimated.` :
          "Not used: each trial had its own program."
    ],
  ];
  const saved = e.early_stop.steps + e.dedup.steps;
  const without = e.steps + saved;
  const bar = (name, steps) => {
    const node = el("div", {class: `part ${name}`, title: `${plural(steps, "step")}`});
    node.style.flexGrow = String(steps);
    return node;
  };
  const share = (steps) => (without > 0 ? `${Math.round(100 * steps / without)} %` : "–");
  const time = (saving) => (saving.seconds ? duration(saving.seconds) : "–");
  const rows = counterfactual.map(
      ([name, saving, words]) =>
          el("tr", {}, el("th", {scope: "row"}, name), el("td", {class: "number"}, saving ? short(saving.steps) : "–"),
             el("td", {class: "number"}, saving ? share(saving.steps) : "–"),
             el("td", {class: "number"}, saving ? time(saving) : "–"), el("td", {class: "words"}, words)));
  const lead = without > 0 ? `The study ran ${plural(e.steps, "training step")} of the ${
                                 short(without)} that its trials could have needed. It saved ${share(saved)}.` :
                             "Nothing has been trained yet.";
  const spent = el(
      "tr", {}, el("th", {scope: "row"}, "Spent"), el("td", {class: "number"}, short(e.steps)),
      el("td", {class: "number"}, share(e.steps)), el("td", {class: "number"}, e.seconds ? duration(e.seconds) : "–"),
      el("td", {class: "words"},
         e.lost.trials ? `Of these, ${plural(e.lost.steps, "step")}${
                             e.lost.seconds ? ` and ${duration(e.lost.seconds)}` :
                                              ""} were spent on ${plural(e.lost.trials, "trial")} that failed.` :
                         "No step was spent on a trial that failed."));
  return section(
      "economy", "Economy", lead,
      without > 0 &&
          el("div", {
            class: "bar",
            role: "img",
            "aria-label": `${share(e.steps)} spent, ${share(e.early_stop.steps)} saved by early stopping, ${
                share(e.dedup.steps)} saved by finding duplicates`
          },
             bar("spent", e.steps), bar("stopping", e.early_stop.steps), bar("dedup", e.dedup.steps)),
      el("div", {class: "scroll"},
         el("table", {class: "plain-table"},
            el("thead", {},
               el("tr", {},
                  ["", "steps", "share", "worker time", "compared with"].map(
                      (h, k) => el("th", {scope: "col", class: k > 0 && k < 4 ? "number" : null}, h)))),
            el("tbody", {}, spent, rows))),
      el("p", {class: "caption after"},
         "Worker time is the sum over all workers. The savings assume that the proposals would have been the same."));
}

function makeFailures() {
  const count = source.counts[kFailed];
  if (source.failures.length === 0) return section("failures", "Failures", "No trial failed.");
  return section(
      "failures", "Failures", `${plural(count, "trial")} failed, grouped by cause.`,
      el("div", {class: "groups"},
         source.failures.map(
             (group) => el(
                 "article", {}, el("h3", {}, el("span", {class: "badge"}, short(group.count)), isolated(group.cause)),
                 el("blockquote", {}, isolated(group.message || "(no message)")),
                 el("p", {}, "First: ", group.first.map((id, k) => [k ? ", " : "", trialLink(id)]))))));
}
