#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/selector.h"

namespace lanista::data {

/// One uniform random number for each row of each pass. A value; const functions are thread-safe.
class RowSampler {
 public:
  /// Numbers of the training with this seed.
  explicit RowSampler(std::uint64_t seed) : rng_(Rng(seed).split("select")) {}
  /// Returns a function from the number of a row to its random number in [0, 1) in pass `pass`.
  auto for_pass(std::int64_t pass) const {
    return [pass_rng = rng_.split(static_cast<std::uint64_t>(pass))](std::int64_t row) {
      return pass_rng.split(static_cast<std::uint64_t>(row)).uniform();
    };
  }

 private:
  Rng rng_;
};

/// Selects each example with the same probability, whatever its loss: the control that a selector must beat. No study
/// names it; a program passes selectors_with_random() to its trainings.
class RandomSelector final : public Selector {
 public:
  /// Selects the share `keep` of the examples, from 0 to 1.
  RandomSelector(double keep, std::uint64_t seed) : keep_(keep), sampler_(seed) {}

  std::vector<std::size_t> requested_positions(const CandidateBatch&) const override { return {}; }
  std::vector<std::size_t> choose(const CandidateBatch& candidates, std::span<const double>) override {
    const auto sampled = sampler_.for_pass(candidates.pass);
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < candidates.rows.size(); ++i) {
      if (sampled(candidates.rows[i]) < keep_) out.push_back(i);
    }
    return out;
  }

 private:
  double keep_;
  RowSampler sampler_;
};

/// The built-in selectors, and `random` with the option `keep`, the share of the examples. The reference is to a
/// constant.
inline const std::vector<SelectorPlugin>& selectors_with_random() {
  static const std::vector<SelectorPlugin> all = [] {
    std::vector<SelectorPlugin> out = builtin_selectors();
    const OptionSpec keep =
        number_option("keep", OptionSpec::Kind::kReal, 0.5, 0.001, 1, "share of the examples that are trained on");
    out.push_back({"random", "a share of the examples by chance", with_selection_options({keep}),
                   [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
                     return std::make_unique<RandomSelector>(options.at("keep").get<double>(), context.seed);
                   }});
    return out;
  }();
  return all;
}

}  // namespace lanista::data
