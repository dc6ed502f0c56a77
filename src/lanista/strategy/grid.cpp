#include <algorithm>
#include <limits>

#include "lanista/strategy/builtin.h"
#include "lanista/strategy/draw.h"

namespace lanista::strategy {
namespace {

using space::Parameter;

/// Finds an upper bound of the grid by answering every question that conditions depend on in all ways, the others
/// once. Domains that decide nothing only multiply.
class BranchSizes {
 public:
  BranchSizes(const space::SearchSpace& params, std::int64_t grain) : all_(params.parameters()), grain_(grain) {}
  /// The largest number of grid points of a branch; saturates.
  std::uint64_t largest() const { return largest_from(0, {}, 1); }

 private:
  std::uint64_t largest_from(std::size_t i, const space::Sample& seen, std::uint64_t product) const {
    if (i == all_.size()) return product;
    const Parameter& parameter = all_[i];
    if (!space::is_active(parameter, seen)) return largest_from(i + 1, seen, product);
    const std::int64_t count = space::domain_size(parameter.domain).value_or(grain_);
    const std::uint64_t grown = times(product, static_cast<std::uint64_t>(count));
    std::uint64_t most = largest_from(i + 1, seen, grown);
    std::vector<space::Value> asked;
    for (std::size_t k = i + 1; k < all_.size(); ++k) {
      if (!all_[k].when || all_[k].when->parameter != parameter.name) continue;
      if (std::find(asked.begin(), asked.end(), all_[k].when->equals) == asked.end()) {
        asked.push_back(all_[k].when->equals);
      }
    }
    for (const space::Value& value : asked) {
      space::Sample with = seen;
      with[parameter.name] = value;
      most = std::max(most, largest_from(i + 1, with, grown));
    }
    return most;
  }
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return a > std::numeric_limits<std::uint64_t>::max() / b ? std::numeric_limits<std::uint64_t>::max() : a * b;
  }

  const std::vector<Parameter>& all_;
  std::int64_t grain_;
};

/// All bases times all samples, in a fixed order. Branches of a conditional space have different sizes, so that some
/// numbers of the mixed-radix count stand for nothing; the cursor is the first number that was not proposed yet.
class GridSearch final : public Folding {
 public:
  GridSearch(const Context& context, std::unique_ptr<StoppingRule> rule, std::int64_t grain)
      : Folding(context, std::move(rule)), drawer_(context, {0, 0}), grain_(grain) {
    const std::uint64_t largest = BranchSizes(context.params, grain).largest();
    const std::uint64_t bases = drawer_.bases().size();
    end_ = largest > std::numeric_limits<std::uint64_t>::max() / bases ? std::numeric_limits<std::uint64_t>::max()
                                                                       : largest * bases;
  }
  std::string_view name() const override { return "grid"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng&, const Taken& taken) const override {
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      auto proposal = at(i);
      if (proposal && !taken.contains(study::duplicate_key(*proposal))) return proposal;
    }
    return std::optional<study::Proposal>();
  }

  void fold(const study::Event& event) override {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) return;
    const Digest key = study::duplicate_key(proposed->proposal);
    // A proposal that is not the grid's next one moves nothing.
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      const auto own = at(i);
      if (!own) continue;
      const Digest own_key = study::duplicate_key(*own);
      if (own_key == key) cursor_ = i + 1;
      if (own_key == key || !seen(own_key)) break;
    }
  }

 private:
  std::optional<study::Proposal> at(std::uint64_t i) const {
    space::GridChooser choose(i, grain_);
    const auto base = choose.index("base", static_cast<std::int64_t>(drawer_.bases().size()));
    space::Sample sample = context().params.draw(choose);
    if (choose.exhausted()) return std::nullopt;
    return drawer_.proposal(drawer_.bases()[static_cast<std::size_t>(base)], std::move(sample));
  }

  Drawer drawer_;
  std::int64_t grain_;
  std::uint64_t end_ = 0;
  std::uint64_t cursor_ = 0;
};

}  // namespace

StrategyPlugin grid_plugin() {
  OptionSpec grain;
  grain.name = "grain";
  grain.kind = OptionSpec::Kind::kInt;
  grain.default_value = 5;
  grain.min = 1;
  grain.max = 1'000'000;
  grain.help = "values taken from a continuous domain";
  return {"grid",
          "all bases with all hyper-parameters in order; no mutations",
          {grain},
          [](const Context& context, const Options& options,
             std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
            return std::unique_ptr<Strategy>(
                std::make_unique<GridSearch>(context, std::move(rule), options.at("grain").get<std::int64_t>()));
          }};
}

}  // namespace lanista::strategy
