#include "lanista/search/tuning/adaptive_batch_rules.h"

#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::study {

std::vector<OptionSpec> adaptive_options() {
  using Kind = OptionSpec::Kind;
  const std::string help =
      "factor of the learning rate with the batch; adascale: the value of its step; sqrt: the root of the batch's "
      "factor; linear; none; auto: adascale for " +
      autodiff::undivided_optimizer_names() + ", else sqrt";
  OptionSpec rate = option("rate", Kind::kText, "auto", help.c_str());
  rate.allowed = {"auto", "adascale", "sqrt", "linear", "none"};
  return {number_option("most", Kind::kInt, nullptr, 1, static_cast<double>(kMaxBatch),
                        "largest batch: data.batch times a power of two"),
          rate};
}

Result<void> check_adaptive_batch(std::int64_t from, std::int64_t most) {
  std::int64_t batch = from;
  while (batch < most && batch <= kMaxBatch / 2) batch *= 2;
  if (batch == most) return {};
  const std::string begins = std::to_string(from) + ", the batch that the trial begins with (data.batch)";
  if (most < from) {
    return Error{Code::kInvalidArgument, "is " + std::to_string(most) + ", below " + begins, "most"};
  }
  return Error{Code::kInvalidArgument,
               "is " + std::to_string(most) + "; it must be a power of two times " + begins + ", such as " +
                   std::to_string(batch > most ? batch / 2 : batch),
               "most"};
}

Result<AdaptiveBatchRules> adaptive_batch_rules(const Recipe& recipe) {
  LANISTA_ASSIGN(const Options options, resolve_options(recipe.tune.options, adaptive_options()));
  if (!options.at("most").is_number_integer()) {
    return Error{Code::kInvalidArgument, "is missing; it is the largest batch of the trial", "most"};
  }
  AdaptiveBatchRules rules;
  rules.most = options.at("most").get<std::int64_t>();
  LANISTA_TRY(check_adaptive_batch(recipe.batch, rules.most));
  const auto rate_option = options.at("rate").get<std::string>();
  const autodiff::Optimizer* optimizer = autodiff::find_optimizer(recipe.optimizer);
  const bool divides = optimizer != nullptr && optimizer->divides();
  rules.rate = rate_option == "adascale" || (rate_option == "auto" && !divides) ? RateScaling::kAdaScaleGain
               : rate_option == "sqrt" || rate_option == "auto"                 ? RateScaling::kSquareRoot
               : rate_option == "linear"                                        ? RateScaling::kLinear
                                                                                : RateScaling::kNone;
  return rules;
}

const Branch* batch_change_before(const Measurement& measurement) {
  const auto& branches = measurement.branches;
  const auto found = std::ranges::find(branches, kAdapted, &Branch::trend);
  return found == branches.end() ? nullptr : &*found;
}

}  // namespace lanista::study
