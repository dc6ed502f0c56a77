#include <algorithm>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {
namespace {

constexpr const char* kAgain = "again";

/// Independent samples of base, number of mutations, mutations and hyper-parameters. With `again`, an exhausted space
/// is sampled again in a next round. Each of its proposals is a further training with another seed.
class RandomSearch final : public ReplayableSampler {
 public:
  RandomSearch(const Context& context, MutationCount count, bool again)
      : ReplayableSampler(context), proposal_sampler_(context, count), again_(again) {}
  std::string_view name() const override { return "random"; }

 protected:
  NextProposal next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const override {
    const auto sample_next = [this](const Rng& r) { return proposal_sampler_.random(r); };
    auto found = first_unique_or_remaining(proposal_sampler_, rng, duplicates, sample_next, repeat_);
    // The next round has a proposal, unless the group under construction has used it up. An empty space has none.
    const std::int64_t most = repeat_ + 1 + std::ssize(duplicates.group());
    for (std::int64_t repeat = repeat_ + 1; again_ && index > 0 && found && !*found && repeat <= most; ++repeat) {
      found = first_unique_or_remaining(proposal_sampler_, rng, duplicates, sample_next, repeat);
    }
    return found;
  }
  void fold_event(const study::Event& event) override {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (again_ && proposed != nullptr) repeat_ = std::max(repeat_, proposed->proposal.repeat);
  }

 private:
  ProposalSampler proposal_sampler_;
  bool again_ = false;
  std::int64_t repeat_ = 0;  ///< Current round.
};

}  // namespace

bool repeats_exhausted_space(const study::StrategyConfig& strategy) {
  return strategy.name == "random" && strategy.options.value(kAgain, false);
}

std::optional<Error> repeated_space_conflict(const study::StudyConfig& config) {
  if (!repeats_exhausted_space(config.strategy)) return std::nullopt;
  const char* conflicting_option = config.data.folds            ? "data.folds"
                                   : config.strategy.repeat > 1 ? "strategy.repeat"
                                   : config.strategy.retry > 0  ? "strategy.retry"
                                                                : nullptr;
  if (conflicting_option == nullptr) return std::nullopt;
  return Error{Code::kInvalidArgument,
               "repeats earlier trainings, and so does " + std::string(conflicting_option) + "; leave one out",
               "strategy.again"};
}

StrategyPlugin random_plugin() {
  return {
      "random",
      "independent samples of a base model, its mutations and the hyper-parameters",
      {mutation_count_option(),
       option(kAgain, OptionSpec::Kind::kBool, false, "whether an exhausted space is sampled again with other seeds")},
      [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
        LANISTA_ASSIGN(const MutationCount count, mutation_count(options));
        return std::unique_ptr<Sampler>(std::make_unique<RandomSearch>(context, count, options.at(kAgain).get<bool>()));
      },
      false,
      false,
      false};
}

}  // namespace lanista::search
