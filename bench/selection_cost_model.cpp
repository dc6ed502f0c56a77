#include "bench/selection_cost_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "bench/arms.h"
#include "lanista/base/check.h"
#include "lanista/exec/train/selection.h"
#include "lanista/io/data/random_selector.h"
#include "lanista/io/data/selector.h"

namespace lanista::bench {
namespace {

/// The median milliseconds of a pass in which the share `keep` of the rows is chosen at random.
double overhead_ms(double keep, std::int64_t rows, std::int64_t batch) {
  constexpr std::int64_t kPasses = 30, kNever = 1'000'000;
  study::Recipe recipe;
  recipe.batch = batch;
  recipe.epochs = kPasses;
  recipe.select = {"random", {{"keep", keep}, {"warmup_epochs", 0}, {"max_wait", kNever}}};
  auto selection = train::Selection::make(recipe, {.seed = 1, .rows = rows}, data::selectors_with_random());
  LANISTA_CHECK(selection.ok(), "the selector is built in");
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> milliseconds;
  std::int64_t step = 0;
  for (std::int64_t pass = 0; pass < kPasses; ++pass) {
    const double start = thread_cpu_seconds();
    for (auto left = std::span(all); !left.empty(); ++step) {
      const auto part = left.first(std::min(left.size(), static_cast<std::size_t>(batch)));
      left = left.subspan(part.size());
      selection->add_batch({.step = step, .epoch = pass, .pass = pass, .ends_pass = left.empty()}, part, {});
      selection->step_done();
    }
    milliseconds.push_back(1e3 * (thread_cpu_seconds() - start));
  }
  std::ranges::sort(milliseconds);
  return milliseconds[milliseconds.size() / 2];
}

}  // namespace

Result<SelectionWork> selection_work(const study::PluginConfig& select, std::int64_t epochs, std::int64_t epoch) {
  if (select.name.empty()) return SelectionWork{};
  LANISTA_ASSIGN(const Options options, data::resolve_selection_options(select, data::selectors_with_random()));
  const auto bound = [&](const char* name) {
    return static_cast<std::int64_t>(std::ceil(options.at(name).get<double>() * static_cast<double>(epochs)));
  };
  if (epoch < options.at("warmup_epochs").get<std::int64_t>()) return SelectionWork{};
  if (epoch < bound("from") || epoch >= bound("until")) return SelectionWork{};
  const double interrupt = options.at("interrupt").get<double>();
  SelectionWork work;
  work.chosen = interrupt > 0 ? 1 - 1 / interrupt : 1;
  const bool ignores_losses = select.name == "random" || options.value("beta", 1.0) == 0;
  work.scored = ignores_losses ? 0 : work.chosen / options.value("stale", 1.0);
  return work;
}

double predict_epoch_milliseconds(const SelectionCosts& parts, const SelectionWork& work) {
  return parts.read + work.scored * parts.forward + work.chosen * parts.choose + work.trained * parts.train +
         work.queued * parts.queue;
}

SelectionOverhead measure_selection_overhead(std::int64_t rows, std::int64_t batch) {
  const double sampling = overhead_ms(0.001, rows, batch);
  return {sampling, (overhead_ms(0.5, rows, batch) - sampling) / 0.5};
}

}  // namespace lanista::bench
