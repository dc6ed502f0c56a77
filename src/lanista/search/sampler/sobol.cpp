#include "lanista/search/sampler/sobol.h"

#include <algorithm>
#include <boost/random/sobol.hpp>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {
namespace {

constexpr std::size_t kMaxDimensions = 3667;  ///< Dimensions for which Boost has direction numbers.

/// Returns x after nested uniform scrambling (Owen, 1995): whether a bit is flipped depends on all bits above it.
std::uint64_t owen(std::uint64_t x, const Rng& rng) {
  std::uint64_t out = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t above = bit == 63 ? 0 : x >> (bit + 1);
    const std::uint64_t flip = philox(rng.key(), static_cast<std::uint64_t>(bit), above)[0] & 1;
    out |= (((x >> bit) & 1) ^ flip) << bit;
  }
  return out;
}

/// Points of a Sobol sequence over base models and hyper-parameters.
class SobolSearch final : public ReplayableSampler {
 public:
  SobolSearch(const Context& context, Scramble scramble, MutationCount count)
      : ReplayableSampler(context), scramble_(scramble), proposal_sampler_(context, count) {
    for (const space::Parameter& p : context.params.parameters()) {
      // Declarations of one name are never active together, so they may share a dimension.
      if (std::find(names_.begin(), names_.end(), p.name) == names_.end()) names_.push_back(p.name);
    }
  }
  std::string_view name() const override { return "sobol"; }
  std::size_t dimensions() const { return names_.size() + 1; }

 protected:
  /// A point that gives nothing new is skipped for good: the cursor is after the last point that was proposed.
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    std::uint64_t i = cursor_;
    auto proposal = first_unique(
        context().rng, duplicates, [&](const Rng&) { return at(i++); }, max_attempts());
    if (proposal) return std::optional(*std::move(proposal));
    if (proposal.error().code != Code::kResourceExhausted || !proposal_sampler_.is_enumerable())
      return std::move(proposal).error();
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) return;
    const Digest key = study::run_key(proposed->proposal);
    const std::uint64_t end = cursor_ + static_cast<std::uint64_t>(max_attempts());
    // A proposal that is not the next one of the sequence does not move the cursor.
    for (std::uint64_t i = cursor_; i < end; ++i) {
      const auto own = at(i);
      if (!own || filter().violated_constraint(*own)) continue;
      const Digest own_key = study::run_key(*own);
      if (own_key == key) cursor_ = i + 1;
      if (own_key == key || !seen(own_key)) break;
    }
  }

 private:
  std::int64_t max_attempts() const { return proposal_sampler_.is_enumerable() ? kMaxAttempts : kMaxRandomAttempts; }
  /// Returns the proposal of a point.
  Result<study::Proposal> at(std::uint64_t index) const {
    const std::vector<double> point = sobol_point(dimensions(), index, scramble_, context().rng.split("scramble"));
    const auto bases = static_cast<double>(proposal_sampler_.bases().size());
    space::Sample sample;
    for (const space::Parameter& p : context().params.parameters()) {
      if (!space::is_active(p, sample)) continue;
      const auto dimension = std::find(names_.begin(), names_.end(), p.name) - names_.begin() + 1;
      sample[p.name] = space::value_at(p.domain, point[static_cast<std::size_t>(dimension)]);
    }
    return proposal_sampler_.mutated(static_cast<std::int64_t>(point[0] * bases), std::move(sample),
                                     context().rng.split(index));
  }

  Scramble scramble_;
  ProposalSampler proposal_sampler_;
  std::vector<std::string> names_;
  std::uint64_t cursor_ = 0;
};

}  // namespace

std::vector<double> sobol_point(std::size_t dimensions, std::uint64_t index, Scramble scramble, const Rng& rng) {
  std::vector<std::uint64_t> bits(dimensions, 0);
  if (index > 0) {  // Boost's sequence begins after the origin.
    boost::random::sobol engine(dimensions);
    engine.seed(index - 1);
    for (std::uint64_t& x : bits) x = engine();
  }
  std::vector<double> point;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const Rng own = rng.split(d);
    if (scramble == Scramble::kShift) bits[d] ^= Rng(own).next();
    if (scramble == Scramble::kOwen) bits[d] = owen(bits[d], own);
    point.push_back(static_cast<double>(bits[d] >> 11) * 0x1p-53);
  }
  return point;
}

StrategyPlugin sobol_plugin() {
  OptionSpec scramble;
  scramble.name = "scramble";
  scramble.kind = OptionSpec::Kind::kText;
  scramble.default_value = "owen";
  scramble.allowed = {"owen", "shift", "none"};
  scramble.help = "how the seed changes the points: nested uniform scrambling, a digital shift, or none";
  return {
      "sobol",
      "points of a Sobol sequence over base models and hyper-parameters (best with 2^m trials); mutations are random",
      {scramble, mutation_count_option()},
      [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
        LANISTA_ASSIGN(const MutationCount count, mutation_count(options));
        const auto text = options.at("scramble").get<std::string>();
        const Scramble how = text == "owen" ? Scramble::kOwen : text == "shift" ? Scramble::kShift : Scramble::kNone;
        auto search = std::make_unique<SobolSearch>(context, how, count);
        if (search->dimensions() > kMaxDimensions) {
          return Error{Code::kInvalidArgument,
                       "the space has " + std::to_string(search->dimensions()) +
                           " decisions; a Sobol sequence has at most " + std::to_string(kMaxDimensions),
                       ""};
        }
        return std::unique_ptr<Sampler>(std::move(search));
      },
      false,
      false,
      false};
}

}  // namespace lanista::search
