#include "lanista/engine/fit.h"

#include <algorithm>

#include "lanista/base/text_distance.h"
#include "lanista/data/augment.h"
#include "lanista/mutate/model_space.h"
#include "lanista/study/metric.h"

namespace lanista::engine {
namespace {

Result<void> fit_bases(std::vector<std::string>& bases, const data::DataSpec& data) {
  std::vector<std::string> out;
  for (const auto& base : bases) {
    if (base != "builtin:auto") {
      out.push_back(base);
      continue;
    }
    for (const auto& name : mutate::builtin_base_names()) {
      const std::int64_t outputs = data.classes > 0 ? data.classes : data.target_size;
      if (mutate::builtin_base(name, data.features, outputs, data.vocab)) out.push_back("builtin:" + name);
    }
  }
  if (out.empty()) {
    return Error{Code::kInvalidArgument, "no built-in base takes samples of shape " + data.features.text(),
                 "model.base"};
  }
  bases = std::move(out);
  return {};
}

Result<void> check_measured(const std::string& metric, const std::vector<std::string>& measured,
                            const std::string& key) {
  if (std::ranges::find(measured, metric) != measured.end()) return {};
  std::string list;
  for (const auto& each : measured) list += (list.empty() ? "" : ", ") + each;
  const std::string near = nearest_name(metric, measured);
  return Error{
      Code::kInvalidArgument,
      "'" + metric + "' is not measured; measured: " + list + (near.empty() ? "" : "; did you mean '" + near + "'?"),
      key};
}

}  // namespace

Result<void> fit_to_data(study::StudyConfig& config, const data::DataSpec& data) {
  if (config.model.space.is_null()) LANISTA_TRY(fit_bases(config.model.base, data));
  if (auto augmenter = data::Augmenter::make(config.data.augment, data); !augmenter) return augmenter.error();
  const bool classes = data.classes > 0;
  if (config.train.loss != "auto" && (config.train.loss == "cross_entropy") != classes) {
    return Error{Code::kInvalidArgument,
                 "'" + config.train.loss + "' does not suit targets that are " + (classes ? "classes" : "numbers") +
                     "; allowed: auto, " + (classes ? "cross_entropy" : "mse"),
                 "train.loss"};
  }
  if (config.train.metrics.empty()) config.train.metrics = study::default_metrics(data.classes);
  for (const auto& metric : config.train.metrics) LANISTA_TRY(study::check_metric(metric, data.classes));

  if (config.goals.empty())
    config.goals.push_back(classes ? study::Goal{true, "val_accuracy"} : study::Goal{false, "val_loss"});
  std::vector<std::string> measured{"train_loss", "val_loss"};
  for (const auto& metric : config.train.metrics) measured.push_back("val_" + metric);
  std::vector<std::string> known = measured;
  known.insert(known.end(), {"params", "flops"});
  for (const auto& goal : config.goals) LANISTA_TRY(check_measured(goal.metric, known, "goal"));
  for (const auto& parameter : config.space.params.parameters()) known.push_back(parameter.name);
  for (const auto& constraint : config.subject_to) {
    for (const auto& name : constraint.names()) LANISTA_TRY(check_measured(name, known, "subject_to"));
  }
  if (const std::string on = config.stop.options.value("on", ""); !on.empty())
    LANISTA_TRY(check_measured(on, measured, "stop.on"));
  return {};
}

}  // namespace lanista::engine
