#include "lanista/io/data/selection_comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/data/selector.h"
#include "lanista/search/study/metric.h"

namespace lanista::data {

bool SelectionComparison::is_due(std::int64_t epoch, std::optional<std::int64_t> last) const {
  if (epoch < first || epoch >= end) return false;
  return !last || (every > 0 && epoch - *last >= every);
}

std::int64_t SelectionComparison::count_checks(std::int64_t from, std::int64_t through) const {
  const auto before = [&](std::int64_t epoch) -> std::int64_t {  // epochs before this one
    const std::int64_t requested = std::min(epoch, end) - first;
    if (requested <= 0) return 0;
    return every > 0 ? (requested - 1) / every + 1 : 1;
  };
  return std::max<std::int64_t>(0, before(through) - before(from));
}

std::int64_t SelectionComparison::max_discarded_steps(std::int64_t epoch_steps) const {
  // All rows are scored and all are trained on, and one batch waited. As many steps on all rows cost the same.
  const double whole = static_cast<double>(steps) * (2 + backward) / (1 + backward);
  const double most = std::min(std::ceil(whole) + 1, static_cast<double>(epoch_steps - 1));
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(most));
}

Result<std::optional<SelectionComparison>> selection_comparison(const study::PluginConfig& select,
                                                                std::int64_t epochs) {
  if (select.name != kSelectionAuto) return std::optional<SelectionComparison>();
  LANISTA_ASSIGN(const Options options, resolve_selection_options(select));
  if (options.contains("found")) return std::optional<SelectionComparison>();
  const auto whole = [&](const char* name) { return options.at(name).get<std::int64_t>(); };
  const auto share = [&](const char* name) {
    return static_cast<std::int64_t>(std::ceil(options.at(name).get<double>() * static_cast<double>(epochs)));
  };
  return std::optional(SelectionComparison{.first = std::max(whole("warmup_epochs"), share("from")),
                                           .end = share("until"),
                                           .every = whole("every"),
                                           .steps = whole("steps"),
                                           .backward = options.at("backward").get<double>(),
                                           .on = options.at("on").get<std::string>()});
}

Result<void> check_selection_options(const Options& options) {
  if (options.at("from") > options.at("until")) {
    return Error{Code::kInvalidArgument,
                 options.at("from").dump() + " lies behind until, " + options.at("until").dump(), "from"};
  }
  const auto on = options.value("on", std::string());
  if (!on.empty() && on != "val_loss" && study::validation_metric(on).empty()) {
    return Error{Code::kInvalidArgument,
                 "'" + on +
                     "' is not measured on the validation part; allowed: val_loss, or val_ "
                     "and the name of a metric",
                 "on"};
  }
  if (!on.empty() && !study::more_is_better(on)) {
    return Error{Code::kInvalidArgument, "'" + on + "' is no metric that we know: " + study::metric_list(), "on"};
  }
  if (const auto found = options.find("found"); found != options.end()) {
    LANISTA_TRY(study::read_selection_changes(*found));
  }
  return {};
}

study::PluginConfig with_recorded_selection(study::PluginConfig select,
                                            std::span<const study::Measurement> measurements) {
  select.options["found"] = study::selection_changes_json(study::selection_changes(measurements));
  return select;
}

}  // namespace lanista::data
