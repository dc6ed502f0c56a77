// Assembles the page and marks it as complete.

document.title = `${study.name} · lanista`;
readTheme();
const details = makeDetails();
// A wide page shows details next to the charts, at first those of the winner. A narrow page shows them on request.
if (!matchMedia("(max-width: 1080px)").matches) {
  state.selected = study.winner ?? (ranked.length ? trials.id[ranked[0]] : 0);
}
details.show();
const sections = [
  makeQuality(), makeProgress(), makeCurves(), makeSearches(), makeParallel(), makeImportance(), makeSlices(),
  makeMap(), makePareto(), makeTable(), makeArchitecture(), makeLineage(), makeTimeline(), makePipeline(),
  makeEconomy(), makeFailures()
].filter((part) => part !== null);
const contents =
    el("nav", {"aria-label": "Sections"},
       sections.map((part) => el("a", {href: `#${part.id}`}, part.querySelector("h2").textContent)));
document.getElementById("page").append(
    makeOverview(), contents, el("div", {class: "columns"}, el("div", {class: "stories"}, sections), details.node),
    el("footer", {},
       el("details", {}, el("summary", {}, "The study file, resolved"),
          el("pre", {tabindex: 0}, isolated(study.config))),
       el("p", {},
          `Written by lanista ${study.version}. This page needs no other file and no network.`)),
    bubble);

addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  hideBubble();
  document.getElementById("query").value = "";
  clearFilters();
});
goLive();
// After two frames the first one has been painted.
requestAnimationFrame(() => requestAnimationFrame(() => {
                        performance.mark("report-rendered");
                        document.documentElement.dataset.rendered = String(Math.round(performance.now()));
                      }));
