// The reader's choices: one selected trial, up to three compared trials, and filters. Charts and table follow them.

const state = {
  selected: 0,
  compared: [],  // trials, in the order in which they were ticked
  query: "",
  brushes: new Map(),  // by axis name: {column, lo, hi}
  visible: new Uint8Array(trials.count).fill(1),
  visibleCount: trials.count,
};
const listeners = {
  selection: [],
  filter: [],
  compared: []
};
const pending = new Set();

function on(what, listener) {
  listeners[what].push(listener);
}

// Listeners are called once a frame, however many changes there are.
function announce(what) {
  if (pending.size === 0) {
    requestAnimationFrame(() => {
      const due = new Set(
          ["filter", "selection", "compared"].filter((kind) => pending.has(kind)).flatMap((kind) => listeners[kind]));
      pending.clear();
      due.forEach((listener) => listener());
    });
  }
  pending.add(what);
}

function select(id) {
  if (state.selected === id) return;
  state.selected = id;
  announce("selection");
}

const kMostCompared = 3;
function compareTrials(ids) {
  state.compared = ids.filter((id) => trials.rows.has(id)).slice(0, kMostCompared);
  announce("compared");
}
function toggleCompared(id) {
  const others = state.compared.filter((other) => other !== id);
  if (others.length < state.compared.length)
    compareTrials(others);
  else if (others.length < kMostCompared)
    compareTrials([...others, id]);
}

function filterAgain() {
  const wanted = parseQuery(state.query);
  state.visibleCount = 0;
  for (let i = 0; i < trials.count; ++i) {
    let shown = true;
    for (const {column, lo, hi} of state.brushes.values()) {
      const value = column.at(i);
      if (!column.has(i) || !(value >= lo && value <= hi)) shown = false;
    }
    state.visible[i] = shown && wanted.every((test) => test(i)) ? 1 : 0;
    state.visibleCount += state.visible[i];
  }
  announce("filter");
}

function setBrush(column, range) {
  if (range)
    state.brushes.set(column.name, {column, ...range});
  else
    state.brushes.delete(column.name);
  filterAgain();
}

function setQuery(query) {
  state.query = query;
  filterAgain();
}

function clearFilters() {
  if (state.brushes.size === 0 && state.query === "") return false;
  state.brushes.clear();
  state.query = "";
  filterAgain();
  return true;
}

const operators = {
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
  "=": (a, b) => a === b,
};

// Words that must all hold: `lr>0.01`, `optimizer=adam`, `state=failed`, or any text that a row shows.
function parseQuery(query) {
  return query.trim().toLowerCase().split(/\s+/).filter((word) => word !== "").map((word) => {
    const match = /^([^<>=]+)(>=|<=|>|<|=)(.+)$/.exec(word);
    const column = match && tableColumns.find((c) => c.name.toLowerCase() === match[1]);
    if (!column) return (i) => tableColumns.some((c) => c.text(i).toLowerCase().includes(word));
    const limit = Number(match[3]), compare = operators[match[2]];
    if (match[2] === "=" || Number.isNaN(limit)) {
      return (i) => column.text(i).toLowerCase() === match[3] || column.number?.(i) === limit;
    }
    return (i) => column.number !== undefined && compare(column.number(i), limit);
  });
}
