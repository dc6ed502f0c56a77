#include "lanista/study/metric.h"

#include <charconv>

namespace lanista::study {

std::optional<std::int64_t> metric_rank(std::string_view name) {
  if (name == "accuracy") return 1;
  if (name == "mae") return 0;
  if (!name.starts_with("top")) return std::nullopt;
  std::int64_t k = 0;
  const auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), k);
  if (error != std::errc() || end != name.data() + name.size() || k < 2) return std::nullopt;
  return k;
}

Result<void> check_metric(std::string_view name, std::int64_t classes) {
  const auto rank = metric_rank(name);
  const bool fits = rank && (classes > 0 ? *rank >= 1 && *rank <= classes : *rank == 0);
  if (fits) return {};
  const std::string allowed =
      classes > 0 ? "accuracy and top<k> with k from 2 to " + std::to_string(classes) : std::string("mae");
  return Error{Code::kInvalidArgument, "metric '" + std::string(name) + "' does not fit; allowed: " + allowed,
               "train.metrics"};
}

std::vector<std::string> default_metrics(std::int64_t classes) { return {classes > 0 ? "accuracy" : "mae"}; }

}  // namespace lanista::study
