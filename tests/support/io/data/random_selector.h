#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/selector.h"

namespace lanista::data::testing {

/// Selects each example with the same probability, whatever its loss. It is the control of the benchmark `selective`,
/// and a selector without memory for tests.
class RandomSelector final : public Selector {
 public:
  RandomSelector(double keep, std::uint64_t seed) : keep_(keep), rng_(Rng(seed).split("select")) {}

  std::vector<std::size_t> requested_positions(const CandidateBatch&) const override { return {}; }
  std::vector<std::size_t> choose(const CandidateBatch& candidates, std::span<const double>) override {
    const Rng pass_rng = rng_.split(static_cast<std::uint64_t>(candidates.pass));
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < candidates.rows.size(); ++i) {
      if (pass_rng.split(static_cast<std::uint64_t>(candidates.rows[i])).uniform() < keep_) out.push_back(i);
    }
    return out;
  }

 private:
  double keep_;
  Rng rng_;
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

}  // namespace lanista::data::testing
