// The page of a running study reloads itself and then restores its state. The browser stores the state in the page's
// entry of its history, which also works for files.

const kBusy = 1500;  // milliseconds without a reload after an action of the reader
let lastTouch = -Infinity, held = false;
for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "input"]) {
  addEventListener(event, () => {
    lastTouch = performance.now();
  }, {passive: true});
}

// All that can be chosen or focused, by its section and its index there, which are the same on the next page.
function byPlace(selector) {
  const out = new Map(), counts = new Map();
  for (const node of document.querySelectorAll(selector)) {
    const part = node.closest("section, aside, nav, footer, header")?.id ?? "";
    const place = counts.get(part) ?? 0;
    counts.set(part, place + 1);
    out.set(`${part}/${place}`, node);
  }
  return out;
}
const kControls = ".controls select, .controls input[type=radio]";
const kFocusable = "button, input, select, summary, a[href], [tabindex]";
const placeOf = (selector, node) => Array.from(byPlace(selector)).find(([, other]) => other === node)?.[0];

function keepView(ownChoice) {
  const sorted = document.querySelector("#trials th[aria-sort]");
  const controls = [];
  for (const [place, node] of byPlace(kControls))
    if (node.type !== "radio" || node.checked) controls.push([place, node.value]);
  const rows = document.querySelector(".scroll.trials");
  return {
    at: [scrollX, scrollY],
    rows: rows ? [rows.scrollLeft, rows.scrollTop] : null,
    selected: ownChoice ? state.selected : null,
    compared: state.compared,
    query: state.query,
    brushes: Array.from(state.brushes, ([name, {lo, hi}]) => [name, lo, hi]),
    sorted: sorted ? [sorted.textContent, sorted.getAttribute("aria-sort")] : null,
    controls,
    open: Array.from(byPlace("details")).filter(([, node]) => node.open).map(([place]) => place),
    focus: placeOf(kFocusable, document.activeElement) ?? null,
    held,
  };
}

function showAgain(kept) {
  const nodes = byPlace(kControls);
  for (const [place, value] of kept.controls) {
    const node = nodes.get(place);
    if (!node || (node.type === "radio" ? node.checked || node.value !== value : node.value === value)) continue;
    if (node.type === "radio")
      node.checked = true;
    else if (Array.from(node.options).some((option) => option.value === value))
      node.value = value;
    node.dispatchEvent(new Event("change"));
  }
  const details = byPlace("details");
  for (const place of kept.open)
    if (details.has(place)) details.get(place).open = true;
  const head = kept.sorted &&
      Array.from(document.querySelectorAll("#trials th")).find((th) => th.textContent === kept.sorted[0]);
  for (let k = 0; head && k < 2 && head.getAttribute("aria-sort") !== kept.sorted[1]; ++k)
    head.querySelector("button").click();
  if (kept.selected === 0 || trials.rows.has(kept.selected)) select(kept.selected);
  compareTrials(kept.compared ?? []);
  const columns = [
    ...trials.params, ...trials.metrics, integerColumn("parameters", trials.parameters, true),
    integerColumn("epochs", trials.epochs, false)
  ];
  for (const [name, lo, hi] of kept.brushes) {
    const column = columns.find((c) => c.name === name);
    if (column) setBrush(column, {lo, hi});
  }
  if (kept.query) {
    document.getElementById("query").value = kept.query;
    setQuery(kept.query);
  }
  held = kept.held;
  const hold = document.getElementById("hold");
  if (hold) hold.checked = held;
  redrawAll();  // charts have no height before, so the page could not scroll
  scrollTo({left: kept.at[0], top: kept.at[1], behavior: "instant"});
  const rows = document.querySelector(".scroll.trials");
  if (rows && kept.rows) [rows.scrollLeft, rows.scrollTop] = kept.rows;
  byPlace(kFocusable).get(kept.focus)?.focus({preventScroll: true});
}

// Called when the page is complete: restores the state and starts to wait.
function goLive() {
  const kept = history.state?.lanista;
  if (kept) {
    try {
      showAgain(kept);
    } catch (error) {
      console.info(error);  // a page of another study, or of another version
    }
  }
  try {
    history.replaceState(null, "");
    if (study.reload) history.scrollRestoration = "manual";
  } catch {
    return;  // without history each reload would lose the reader's position
  }
  if (!study.reload) return;
  const first = state.selected;
  const busy = () => held || document.hidden || performance.now() - lastTouch < kBusy ||
      !(getSelection()?.isCollapsed ?? true);
  const again = () => {
    if (busy()) return setTimeout(again, 250);
    history.replaceState({lanista: keepView((kept?.selected ?? null) !== null || state.selected !== first)}, "");
    location.reload();
  };
  // The page needs at most a tenth of the time until it is painted.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    setTimeout(again, Math.max(1000 * study.reload, 10 * performance.now()));
  }));
}

function liveNote() {
  if (!study.reload) return null;
  const hold = el("input", {
    type: "checkbox",
    id: "hold",
    change: () => {
      held = hold.checked;
    }
  });
  return el(
      "p", {class: "caption live"}, "The study was running when this page was written. The page reloads itself. ",
      el("label", {}, hold, " stop reloading"));
}
