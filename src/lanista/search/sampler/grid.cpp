#include <algorithm>

#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {
namespace {

constexpr std::int64_t kMaxEmptyPoints = 100'000;  ///< Points in a row that may give nothing new.

/// All bases times all samples, in a fixed order (ProposalSampler::grid_point). The cursor is the number of the first
/// point that may be new.
class GridSearch final : public ReplayableSampler {
 public:
  GridSearch(const Context& context, std::int64_t grain)
      : ReplayableSampler(context), proposal_sampler_(context, {0, 0}), grain_(grain) {
    end_ = proposal_sampler_.num_grid_points(grain);
  }
  std::string_view name() const override { return "grid"; }

 protected:
  NextProposal next(std::uint64_t, const Rng&, const DuplicateFilter& duplicates) const override {
    std::int64_t barren = 0;
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      auto proposal = proposal_sampler_.grid_point(i, grain_);
      if (proposal && !*proposal) continue;
      if (proposal && !duplicates.rejection_reason(**proposal)) return proposal;
      if (++barren == kMaxEmptyPoints) {
        return Error{Code::kResourceExhausted,
                     "bad luck: " + std::to_string(kMaxEmptyPoints) + " points in a row gave no new model", ""};
      }
    }
    return std::optional<study::Proposal>();
  }

  void fold_event(const study::Event& event) override {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) return;
    const Digest key = study::run_key(proposed->proposal);
    // A proposal that is not the next point of the grid does not move the cursor.
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      const auto own = proposal_sampler_.grid_point(i, grain_);
      if (!own || !*own || filter().violated_constraint(**own)) continue;
      const Digest own_key = study::run_key(**own);
      if (own_key == key) cursor_ = i + 1;
      if (own_key == key || !seen(own_key)) break;
    }
  }

 private:
  ProposalSampler proposal_sampler_;
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
  grain.help = "number of values of a continuous domain";
  return {
      "grid",
      "all base models with all hyper-parameters in order; no mutations",
      {grain},
      [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
        return std::unique_ptr<Sampler>(std::make_unique<GridSearch>(context, options.at("grain").get<std::int64_t>()));
      },
      false,
      false,
      false};
}

}  // namespace lanista::search
