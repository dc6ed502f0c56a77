// All trials, filtered and sorted. Only the rows in sight are in the document.

const tableColumns = (() => {
  const number = (name, of, label) => ({name, label: label ?? name, number: of, text: (i) => short(of(i))});
  const shown = (column, format) => ({
    name: column.name,
    label: column.name,
    number: column.names ? undefined : (i) => (column.has(i) ? column.at(i) : NaN),
    has: (i) => column.has(i),
    text: (i) => (column.has(i) ? (column.names ? column.text(i) : format(column.at(i))) : ""),
  });
  const goals = study.goals.map((_, g) => goalColumn(g)).filter((m) => m);
  // Varying columns first, by importance; constant columns last.
  const rest = trials.params.filter((p) => !slicedColumns.includes(p));
  const worked = shown(trials.worked, (v) => short(Number(v.toPrecision(3))));
  return [
    {...number("rank", (i) => trials.rank[i] || Infinity), text: (i) => (trials.rank[i] ? String(trials.rank[i]) : "")},
    {...number("trial", (i) => trials.id[i]), text: (i) => `#${trials.id[i]}`},
    ...goals.map((m) => shown(m, fixed)),
    ...slicedColumns.map((p) => shown(p, short)),
    {name: "state", label: "state", text: (i) => stateName(i) + (trials.same_as[i] ? ` of #${trials.same_as[i]}` : "")},
    ...trials.metrics.filter((m) => !goals.includes(m)).map((m) => shown(m, fixed)),
    number("parameters", (i) => trials.parameters[i]),
    number("epochs", (i) => trials.epochs[i]),
    ...(trials.rungs.missing.includes(0) ? [{name: "rungs", label: "rungs", text: (i) => trials.rungs.text(i)}] : []),
    ...rest.map((p) => shown(p, short)),
    number("steps", (i) => trials.steps[i]),
    {...worked, name: "seconds", label: "seconds"},
    {...number("parent", (i) => trials.parent[i]), text: (i) => (trials.parent[i] ? `#${trials.parent[i]}` : "")},
    {name: "base", label: "base", text: baseName},
    {name: "how", label: "how it was made", text: (i) => trials.how.text(i)},
    {name: "repeat", label: "command that repeats it", text: (i) => command("repeat", target(i)), code: true},
  ];
})();

function makeTable() {
  const kRow = 30, kPrinted = 60;
  let sort = {column: tableColumns[0], down: false}, order = [], printing = false;

  const heads = tableColumns.map(
      (column) =>
          el("th", {scope: "col", class: column.number ? "number" : null},
             el("button", {type: "button", click: () => sortBy(column)}, column.label)));
  const body = el("tbody");
  const table =
      el("table", {role: "grid", "aria-labelledby": "trials-title"},
         el("thead", {},
            el("tr", {},
               el("th", {scope: "col", class: "tick"},
                  el("span", {title: "Tick two or three to see them side by side"}, "✓")),
               heads)),
         body);
  const box =
      el("div", {
        class: "scroll trials",
        tabindex: 0,
        role: "group",
        "aria-label": "Trials. Arrow keys choose a trial, C ticks it for a comparison.",
        scroll: () => render(),
        keydown: onKey
      },
         table);
  const count = el("output", {class: "count", "aria-live": "polite"});
  const query = el("input", {
    type: "search",
    id: "query",
    placeholder: "lr>0.01 state=stopped widen",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "Filter trials",
    input: () => setQuery(query.value)
  });
  const clear = el("button", {type: "button", class: "plain", click: clearFilters}, "Clear filters");

  function sortBy(column) {
    sort = {
      column,
      down: sort.column === column ? !sort.down : column.number !== undefined && column.has !== undefined
    };
    arrange();
  }

  // Missing values and NaN are last in both orders.
  function arrange() {
    const {column, down} = sort, sign = down ? -1 : 1;
    order = [];
    for (let i = 0; i < trials.count; ++i)
      if (state.visible[i]) order.push(i);
    if (column.number) {
      const keys = Float64Array.from({length: trials.count}, (_, i) => column.number(i));
      order.sort((a, b) => {
        const lost = Number(Number.isNaN(keys[a])) - Number(Number.isNaN(keys[b]));
        return lost || (Number.isNaN(keys[a]) || keys[a] === keys[b] ? a - b : keys[a] < keys[b] ? -sign : sign);
      });
    } else {
      const keys = Array.from({length: trials.count}, (_, i) => column.text(i));
      order.sort((a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
    }
    heads.forEach((head, k) => {
      const sorted = tableColumns[k] === column;
      if (sorted)
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else
        head.removeAttribute("aria-sort");
    });
    count.textContent = `${short(order.length)} of ${plural(trials.count, "trial")}`;
    clear.hidden = state.brushes.size === 0 && state.query === "";
    if (document.activeElement !== query) query.value = state.query;
    table.setAttribute("aria-rowcount", order.length + 1);
    render();
  }

  function spacer(rows) {
    const row = el("tr", {"aria-hidden": "true", class: "spacer"});
    row.style.height = `${rows * kRow}px`;
    return row;
  }

  function render() {
    const first = printing ? 0 : Math.max(0, Math.floor(box.scrollTop / kRow) - 8);
    const last = Math.min(order.length, printing ? kPrinted : first + Math.ceil(box.clientHeight / kRow) + 20);
    const rows = [];
    if (first > 0) rows.push(spacer(first));
    for (let k = first; k < last; ++k) rows.push(row(order[k], k));
    if (!printing && last < order.length) rows.push(spacer(order.length - last));
    if (order.length === 0) {
      rows.push(el(
          "tr", {},
          el("td", {colspan: tableColumns.length + 1}, trials.count ? "No trial fits the filters." : "No trial yet.")));
    }
    body.replaceChildren(...rows);
  }

  function row(i, k) {
    const id = trials.id[i];
    const cells = tableColumns.map((column) => {
      const text = column.text(i);
      return el(
          "td", {class: column.number ? "number" : null, title: text.length > 28 ? text : null},
          column.name === "trial" ? el("span", {class: `state s${trials.state[i]}`}) : null,
          column.code       ? el("code", {}, text) :
              column.number ? text :
                              isolated(text));
    });
    return el(
        "tr", {
          "data-trial": id,
          "aria-rowindex": k + 2,
          "aria-selected": String(id === state.selected),
          click: () => select(id)
        },
        el("td", {class: "tick"}, tick(id)), cells);
  }

  // The table takes the keys, so that Tab does not stop at a hundred boxes.
  function tick(id) {
    const box = el("input", {
      type: "checkbox",
      tabindex: -1,
      "aria-label": `Compare trial #${id}`,
      click: (event) => event.stopPropagation(),
      change: () => toggleCompared(id)
    });
    settle(box, id);
    return box;
  }
  function settle(box, id) {
    box.checked = state.compared.includes(id);
    box.disabled = !box.checked && state.compared.length >= kMostCompared;
  }

  function onKey(event) {
    if (event.key === "c" && event.target === box && state.selected && !event.ctrlKey && !event.metaKey)
      return toggleCompared(state.selected);
    const page = Math.max(1, Math.floor(box.clientHeight / kRow) - 2);
    const at = order.indexOf(trials.rows.get(state.selected));
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: order.length - 1
    }[event.key];
    if (to === undefined || order.length === 0 || event.target !== box) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(order.length - 1, to));
    select(trials.id[order[next]]);
    const top = next * kRow, seen = box.clientHeight - 2 * kRow;
    if (top < box.scrollTop)
      box.scrollTop = top;
    else if (top > box.scrollTop + seen)
      box.scrollTop = top - seen;
  }

  on("filter", arrange);
  on("selection", render);
  on("compared", () => {
    for (const node of body.querySelectorAll("tr[data-trial]"))
      settle(node.querySelector("input"), Number(node.dataset.trial));
  });
  for (const [event, now] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      printing = now;
      render();
    });
  }
  arrange();
  new ResizeObserver(render).observe(box);
  return section(
      "trials", "Trials",
      "Filter by words and comparisons (any column: lr>0.01, optimizer=adam, state=failed); click a head to sort. " +
          "Tick two or three to see them side by side.",
      el("div", {class: "controls"}, query, count, clear), box, makeSide());
}
