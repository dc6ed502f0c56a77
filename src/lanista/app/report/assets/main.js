// Puts the page together and says when it stands.

document.title = `${study.name} · lanista`;
readTheme();
const details = makeDetails();
// Beside the charts there is room for the winner's details; over them, only for what the reader chooses.
if (!matchMedia("(max-width: 1080px)").matches) {
  state.selected = study.winner ?? (ranked.length ? trials.id[ranked[0]] : 0);
}
details.show();
const sections = [
  makeQuality(), makeProgress(), makeCurves(), makeSearches(), makeParallel(), makeImportance(), makeSlices(), makeMap(), makePareto(), makeTable(), makeArchitecture(), makeLineage(),
  makeTimeline(), makePipeline(), makeEconomy(), makeFailures()
].filter((part) => part !== null);
const contents =
    el("nav", {"aria-label": "Sections"},
       sections.map((part) => el("a", {href: `#${part.id}`}, part.querySelector("h2").textContent)));
document.getElementById("page").append(
    makeOverview(), contents, el("div", {class: "columns"}, el("div", {class: "stories"}, sections), details.node),
    el("footer", {},
       el("details", {}, el("summary", {}, "The study file, resolved"), el("pre", {tabindex: 0}, said(study.config))),
       el("p", {},
          `Written by lanista ${
              study.version}. This page is complete in itself: it asks no network and can be moved or mailed.`)),
    bubble);

addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  hideBubble();
  document.getElementById("query").value = "";
  clearFilters();
});
goLive();
// Two frames: the first one has been painted by then.
requestAnimationFrame(() => requestAnimationFrame(() => {
                        performance.mark("report-rendered");
                        document.documentElement.dataset.rendered = String(Math.round(performance.now()));
                      }));
