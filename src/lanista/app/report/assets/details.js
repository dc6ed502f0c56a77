// The selected trial: result, decisions, curve, lineage, edits, and the commands that print or repeat it.

function makeDetails() {
  const node = el("aside", {id: "details", "aria-live": "polite", "aria-label": "Selected trial"});
  let metric = 0;

  function ancestors(i) {
    const out = [];
    for (let id = trials.parent[i], guard = 0; id && guard < 500; ++guard) {
      out.push(id);
      const row = trials.rows.get(id);
      if (row === undefined) break;
      id = trials.parent[row];
    }
    return out;
  }

  function smallCurve(i) {
    const curve = curves.get(trials.id[i]);
    if (!curve)
      return el(
          "p", {class: "caption"},
          trials.epochs[i] ? "This page does not contain its curve; the command below prints it." :
                             "It has no measurement.");
    const w = 268, h = 96, values = curve.values[metric];
    const finite = Array.from(values).filter(Number.isFinite);
    if (finite.length === 0) return el("p", {class: "caption"}, "All its measurements are NaN or infinite.");
    const x = makeScale(curve.epochs[0], curve.epochs[curve.epochs.length - 1], 6, w - 6, false);
    const y = makeScale(Math.min(...finite), Math.max(...finite), h - 18, 12, false);
    let d = "";
    values.forEach((v, k) => {
      if (Number.isFinite(v))
        d += `${d && Number.isFinite(values[k - 1]) ? "L" : "M"}${x.at(curve.epochs[k]).toFixed(1)} ${
            y.at(v).toFixed(1)}`;
    });
    const dots = values.length > 40 ? [] :
                                      Array.from(values.keys())
                                          .filter((k) => Number.isFinite(values[k]))
                                          .map(
                                              (k) => svg(
                                                  "circle", {cx: x.at(curve.epochs[k]), cy: y.at(values[k]), r: 2.2},
                                                  svg("title", {}, `epoch ${curve.epochs[k]}: ${fixed(values[k])}`)));
    const name = trials.metrics[metric].name;
    return el(
        "figure", {class: "spark"},
        svg("svg", {
          viewBox: `0 0 ${w} ${h}`,
          role: "img",
          "aria-label": `${name} from ${fixed(finite[0])} to ${fixed(finite[finite.length - 1])}`
        },
            svg("path", {d}), dots, svg("text", {x: 6, y: h - 2}, `epoch ${curve.epochs[0]}`),
            svg("text", {x: w - 6, y: h - 2, class: "end"}, `${curve.epochs[curve.epochs.length - 1]}`)),
        trials.metrics.length > 1 ? dropdown("Curve", trials.metrics.map((m, k) => [k, m.name]), metric, (k) => {
          metric = Number(k);
          show();
        }) : el("figcaption", {}, name));
  }

  function lineageList(i) {
    const line = ancestors(i).reverse();
    if (line.length === 0)
      return el(
          "p", {}, "Made from ", isolated(baseName(i)),
          trials.how.text(i) ? [" by ", isolated(trials.how.text(i))] : " as it is", ".");
    return el(
        "ol", {class: "ancestry"}, el("li", {}, isolated(baseName(i))), line.map((id) => {
          const row = trials.rows.get(id);
          return el("li", {}, trialLink(id), row !== undefined && [
            " ", isolated(trials.how.text(row)), goalColumn(0).has(row) ? ` ${fixed(goalColumn(0).at(row))}` : ""
          ]);
        }),
        el("li", {}, `#${trials.id[i]} `, isolated(trials.how.text(i) || "same model")));
  }

  function edits(i) {
    const lines = source.edits[trials.id[i]];
    if (lines) return el("ul", {class: "edits"}, lines.map((text) => el("li", {}, el("code", {}, isolated(text)))));
    const silent = ["", "tuning itself"].includes(trials.how.text(i));
    return el(
        "p", {class: "caption"},
        silent ? "None: the model is equal to its parent or its base." :
                 "This page does not contain them; the first command below prints them.");
  }

  function show() {
    const i = trials.rows.get(state.selected);
    if (i === undefined) {
      node.replaceChildren(
          el("p", {class: "caption"},
             trials.count ? "Choose a trial in a chart or in the table." : "This study has no trial yet."));
      node.classList.add("empty");
      return;
    }
    node.classList.remove("empty");
    const numbers = trials.metrics.filter((m) => m.has(i)).map((m) => fact(isolated(m.name), fixed(m.at(i))));
    const sample = trials.params.filter((p) => p.has(i)).map((p) => fact(isolated(p.name), isolated(p.text(i))));
    node.replaceChildren(
        el("header", {}, el("h2", {tabindex: -1}, `Trial #${trials.id[i]}`),
           el("button",
              {type: "button", class: "plain", "aria-label": "Close the selected trial", click: () => select(0)},
              "Close")),
        el("p", {class: "outcome"}, el("span", {class: `state s${trials.state[i]}`}), stateName(i),
           trials.same_as[i] ? [" of ", trialLink(trials.same_as[i])] : "",
           trials.rank[i] ? ` · rank ${trials.rank[i]}` : ""),
        source.waits[trials.id[i]] ? el("p", {class: "caption"}, `It waits: ${source.waits[trials.id[i]]}.`) : "",
        trials.reason.has(i) ? el("blockquote", {}, isolated(trials.reason.text(i))) : "",
        el("dl", {}, numbers, fact("epochs", `${trials.epochs[i]} of ${trials.budget[i]}`),
           trials.kept[i] && trials.kept[i] !== trials.epochs[i] ? fact("kept epoch", `${trials.kept[i]}`) : "",
           trials.rungs.text(i) ? fact("rungs", trials.rungs.text(i)) : "",
           source.hosts?.moves[trials.id[i]] ? fact("moved", isolated(source.hosts.moves[trials.id[i]].join("; "))) :
                                               "",
           trials.start.text(i) ? fact("started from", isolated(trials.start.text(i))) : "",
           fact("steps", short(trials.steps[i])),
           fact("worker time", trials.worked.at(i) ? duration(trials.worked.at(i)) : ""),
           fact("parameters", short(trials.parameters[i]))),
        smallCurve(i), el("h3", {}, "Sample"),
        sample.length ? el("dl", {}, sample) : el("p", {class: "caption"}, "No hyper-parameter varies."),
        el("h3", {}, "Print it, repeat it"), copyable(command("show", target(i))),
        copyable(command("repeat", target(i))), el("h3", {}, "Lineage"), lineageList(i),
        el("h3", {}, `Edits to its ${trials.parent[i] ? "parent" : "base"}`), edits(i));
  }

  on("selection", show);
  return {node, show};
}
