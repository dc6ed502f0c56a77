// Which decisions mattered: shares of the variance that each explains, alone and in pairs.

function makeImportance() {
  let goal = 0;
  const body = el("div", {});
  const percent = (share) => share >= 0.0995 ? `${Math.round(100 * share)} %` : `${(100 * share).toFixed(1)} %`;

  function bar(share, most) {
    const fill = el("div", {class: "fill"});
    fill.style.width = `${100 * Math.max(0, Math.min(1, share / most))}%`;
    return el("div", {class: "share-bar", "aria-hidden": "true"}, fill);
  }

  // The predicted metric over the values of a decision: steps, as wide as their part of the range.
  function slice(single, metric) {
    if (!single.means) return null;
    const w = 150, h = 34, means = single.means.map(Number);
    const y = makeScale(Math.min(...means), Math.max(...means), h - 4, 4, false);
    let d = "", at = 0;
    means.forEach((mean, k) => {
      const to = at + single.weights[k];
      d += `${k ? "L" : "M"}${(at * w).toFixed(1)} ${y.at(mean).toFixed(1)}L${(to * w).toFixed(1)} ${
          y.at(mean).toFixed(1)}`;
      at = to;
    });
    const ends = `${single.at[0]} to ${single.at[single.at.length - 1]}`;
    return el(
        "figure", {class: "slice"},
        svg("svg", {viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": `${metric} over ${single.name}, ${ends}`},
            svg("title", {}, ends), svg("path", {d})));
  }

  function singleRow(single, of, most) {
    const best = single.best === undefined ?
        "" :
        [isolated(single.at[single.best]), ` (${fixed(Number(single.means[single.best]))})`];
    return el(
        "tr", {}, el("th", {scope: "row"}, isolated(single.name)), el("td", {}, bar(single.share, most)),
        el("td", {class: "number"}, percent(single.share)), el("td", {class: "number"}, `± ${percent(single.spread)}`),
        el("td", {}, slice(single, of.metric)), el("td", {}, best));
  }

  function headed(heads, rows) {
    return el(
        "div", {class: "scroll"},
        el("table", {class: "plain-table shares"},
           el("thead", {},
              el("tr", {},
                 heads.map(([text, number]) => el("th", {scope: "col", class: number ? "number" : null}, text)))),
           el("tbody", {}, rows)));
  }

  function words(of) {
    const parts =
        [`${plural(of.trials, "trial")}, compared by ${of.metric} at epoch ${of.epoch}, which at least half of the ` +
         `${plural(of.finished, "finished trial")} measured.`];
    if (of.few) parts.push("With so few trials the shares are only a hint.");
    if (typeof of.explained === "number") {
      parts.push(
          of.explained < 0.1 ?
              "The forest predicts unseen trials hardly better than their mean, so the shares are not reliable." :
              `The forest explains ${percent(of.explained)} of the variance of unseen trials.`);
    }
    if (of.far_off)
      parts.push(`${plural(of.far_off, "bad outlier")} ${
          of.far_off === 1 ? "was" : "were"} moved to the edge of the other values.`);
    if (of.left_out)
      parts.push(
          `${plural(of.left_out, "decision")} beyond the first hundred ${of.left_out === 1 ? "is" : "are"} left out.`);
    return el("p", {class: "caption after"}, parts.join(" "));
  }

  function show() {
    const of = source.importance[goal];
    if (of.singles.length === 0) {
      body.replaceChildren(
          el("p", {class: "caption"}, `Too few finished trials differ in their decisions and in ${of.metric}.`));
      return;
    }
    const most = Math.max(0.01, ...of.singles.map((s) => s.share), ...of.pairs.map((p) => p.share));
    const kSingles = 12, kPairs = 6;
    const pairs = of.pairs.filter((p) => p.share >= 0.005).slice(0, kPairs);
    const rest = of.singles.slice(kSingles);
    body.replaceChildren(
        headed(
            [["decision"], [""], ["share", true], ["", true], [of.metric], ["best near"]],
            of.singles.slice(0, kSingles).map((s) => singleRow(s, of, most))),
        rest.length ? el("p", {class: "caption"},
                         `${plural(rest.length, "further decision")}: ${
                             percent(rest.reduce((sum, s) => sum + s.share, 0))} together.`) :
                      "",
        pairs.length ? el("h3", {}, "Pairs, in addition to each alone") : "",
        pairs.length ?
            headed(
                [["decisions"], [""], ["share", true], ["", true]],
                pairs.map(
                    (pair) =>
                        el("tr", {}, el("th", {scope: "row"}, isolated(pair.names[0]), " × ", isolated(pair.names[1])),
                           el("td", {}, bar(pair.share, most)), el("td", {class: "number"}, percent(pair.share)),
                           el("td", {class: "number"}, `± ${percent(pair.spread)}`)))) :
            "",
        words(of));
  }

  if (source.importance.length === 0) return null;
  show();
  return section(
      "importance", "What mattered",
      "How much of the differences between results each decision explains, averaged over all others (fANOVA on a " +
          "random forest; Hutter, Hoos, Leyton-Brown 2014).",
      study.goals.length > 1 &&
          el("div", {class: "controls"},
             dropdown(
                 "Goal", study.goals.map((g, k) => [k, g.metric]), 0,
                 (k) => {
                   goal = Number(k);
                   show();
                 })),
      body);
}
