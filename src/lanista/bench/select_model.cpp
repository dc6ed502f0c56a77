#include "lanista/bench/select_model.h"

#include <cmath>

#include "lanista/data/select_guard.h"
#include "lanista/data/selector.h"

namespace lanista::bench {

Result<SelectWork> select_work(const study::PluginConfig& select, std::int64_t epochs, std::int64_t epoch, bool won) {
  if (select.name.empty()) return SelectWork{};
  if (select.name == data::kSelectAuto && !won) return SelectWork{};
  LANISTA_ASSIGN(const Options options, data::selection_settings(select));
  const auto bound = [&](const char* name) {
    return static_cast<std::int64_t>(std::ceil(options.at(name).get<double>() * static_cast<double>(epochs)));
  };
  if (epoch < options.at("warmup_epochs").get<std::int64_t>()) return SelectWork{};
  if (epoch < bound("from") || epoch >= bound("until")) return SelectWork{};
  const double interrupt = options.at("interrupt").get<double>();
  SelectWork work;
  work.chosen = interrupt > 0 ? 1 - 1 / interrupt : 1;
  const bool blind = select.name == "random" || options.value("beta", 1.0) == 0;
  work.looked = blind ? 0 : work.chosen / options.value("stale", 1.0);
  return work;
}

double select_milliseconds(const SelectParts& parts, const SelectWork& work) {
  return parts.read + work.looked * parts.forward + work.chosen * parts.choose + work.trained * parts.train +
         work.queued * parts.queue + work.evaluations * parts.evaluate;
}

}  // namespace lanista::bench
