// The page of a study under way loads itself again, and shows its reader what he saw before: the browser keeps that as
// the state of the page's entry in its history, which works from a file, too.

const kBusy = 1500;  // milliseconds for which a reader who did something is left alone
let lastTouch = -Infinity, held = false;
for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "input"]) {
  addEventListener(event, () => {
    lastTouch = performance.now();
  }, {passive: true});
}

// Whatever can be chosen or focused, by its section and its place in it: the next page has the same.
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
  redrawAll();  // now, for charts have no height before, and there would be nowhere to scroll to
  scrollTo({left: kept.at[0], top: kept.at[1], behavior: "instant"});
  const rows = document.querySelector(".scroll.trials");
  if (rows && kept.rows) [rows.scrollLeft, rows.scrollTop] = kept.rows;
  byPlace(kFocusable).get(kept.focus)?.focus({preventScroll: true});
}

// Called when the page stands: shows what was seen before, and begins to wait.
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
    return;  // a browser that forbids it would lose the reader's place every few seconds
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
  // Not oftener than in ten times as long as it takes until it is painted.
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
      "p", {class: "caption live"}, "Under way when this page was written: it loads itself again as the study goes on. ",
      el("label", {}, hold, " hold it"));
}
