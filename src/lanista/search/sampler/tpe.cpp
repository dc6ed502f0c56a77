#include "lanista/search/sampler/tpe.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "lanista/search/math/parzen.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/decisions.h"
#include "lanista/search/sampler/learning_sampler.h"

namespace lanista::search {
namespace {

struct Settings {
  std::int64_t startup = 0, candidates = 0;
  bool multivariate = false, constant_liar = false;
  std::string gamma;  ///< "linear" or "sqrt".
  MutationCount mutations;
};

/// Tree-structured Parzen estimator (Bergstra et al., NeurIPS'11). Of samples from the density of good trials it
/// proposes the one with the highest ratio of that density to the density of the other trials. Decisions that exist
/// together form a group with its own densities, made from the trials that have them.
class Tpe final : public LearningSampler<Settings> {
 public:
  Tpe(const Context& context, const Settings& settings, std::string_view name)
      : LearningSampler(context, settings, name), decisions_(context, settings.multivariate) {}

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (static_cast<std::int64_t>(ended_.size()) >= settings_.startup && decisions_.size() > 0) {
      const Split split = split_rows(duplicates);
      Models models;
      return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("model"),
                              [&](const Rng& r) { return model_proposal(r, split, models); });
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended || ended->outcome == study::OutcomeKind::kCancelled) return;
    Row row = row_of(ended->proposal);
    if (insert_or_replace(ended_, *std::move(ended)).second) rows_.push_back(std::move(row));
  }

 private:
  using Row = std::vector<std::optional<AxisValue>>;  ///< One coordinate per decision; none if it is inactive.
  struct Split {
    std::vector<const Row*> below, above;  ///< Rows from the oldest to the newest.
    std::deque<Row> running;               ///< Rows of running trials, which only this split has.
  };
  /// The densities of good and of other trials.
  struct Pair {
    Parzen below, above;
    std::map<std::vector<space::Value>, double> gains;  ///< Gains by values. Late samples repeat each other.
  };
  using Models = std::map<std::size_t, Pair>;  ///< By group; made on demand.

  Row row_of(const study::Proposal& proposal) const {
    const DecisionList::DecisionValues answers = decisions_.values_of(proposal);
    Row row(answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) row[i] = axis_value_of(decisions_.domain(i), *answers[i]);
    }
    return row;
  }

  Split split_rows(const DuplicateFilter& duplicates) const {
    Split out;
    std::vector<bool> good(ended_.size(), false);
    const Gamma gamma = settings_.gamma == "sqrt" ? Gamma::kSqrt : Gamma::kLinear;
    for (const std::size_t i : best_trials(ended_, good_count(gamma, ended_.size()))) good[i] = true;
    std::vector<std::pair<TrialId, const Row*>> below, above;
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      (good[i] ? below : above).emplace_back(ended_[i].trial, &rows_[i]);
    }
    if (settings_.constant_liar) {  // Running trials count as bad ones, so that their neighbours are not proposed.
      for (const auto& [trial, o] : history_.running()) {
        above.emplace_back(trial, &out.running.emplace_back(row_of(o.proposal)));
      }
    }
    std::sort(below.begin(), below.end());
    std::sort(above.begin(), above.end());
    for (const auto& [trial, row] : below) out.below.push_back(row);
    for (const auto& [trial, row] : above) out.above.push_back(row);
    if (settings_.constant_liar) {
      for (const study::Proposal& proposal : duplicates.group()) {
        out.above.push_back(&out.running.emplace_back(row_of(proposal)));
      }
    }
    return out;
  }

  Parzen density(std::size_t group, const std::vector<const Row*>& rows) const {
    const std::vector<std::size_t>& members = decisions_.groups()[group];
    std::vector<space::Domain> domains;
    for (const std::size_t member : members) domains.push_back(decisions_.domain(member));
    std::vector<std::vector<AxisValue>> places;
    for (const Row* row : rows) {
      if (std::any_of(members.begin(), members.end(), [&](std::size_t m) { return !(*row)[m]; })) continue;
      std::vector<AxisValue>& place = places.emplace_back();
      for (const std::size_t member : members) place.push_back(*(*row)[member]);
    }
    return Parzen(std::move(domains), places);
  }

  Result<study::Proposal> model_proposal(const Rng& rng, const Split& split, Models& models) const {
    const auto choose_values = [&](std::size_t group) {
      auto it = models.find(group);
      if (it == models.end()) {
        it = models.emplace(group, Pair{density(group, split.below), density(group, split.above), {}}).first;
      }
      return best_candidate(it->second, group, rng.split("group").split(group));
    };
    auto [base, sample] = decisions_.choose_values(choose_values);
    return proposal_sampler_.mutated(base, std::move(sample), rng);
  }

  std::vector<space::Value> best_candidate(Pair& pair, std::size_t group, const Rng& rng) const {
    const std::vector<std::size_t>& members = decisions_.groups()[group];
    std::vector<space::Value> best;
    double highest = 0;
    for (std::int64_t i = 0; i < settings_.candidates; ++i) {
      std::vector<space::Value> values = pair.below.sample(rng.split(static_cast<std::uint64_t>(i)));
      const auto [known, fresh] = pair.gains.try_emplace(values, 0.0);
      if (fresh) {
        std::vector<AxisValue> at;
        for (std::size_t k = 0; k < members.size(); ++k) {
          at.push_back(axis_value_of(decisions_.domain(members[k]), values[k]));
        }
        known->second = pair.below.log_density(at) - pair.above.log_density(at);
      }
      const double gain = known->second;
      if (best.empty() || gain > highest) {
        best = std::move(values);
        highest = gain;
      }
    }
    return best;
  }

  DecisionList decisions_;
  std::vector<Observation> ended_;
  std::vector<Row> rows_;  ///< One per ended trial, in the same order.
};

}  // namespace

StrategyPlugin tpe_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<Tpe, Settings>(
      "tpe",
      "tree-structured Parzen estimator: samples that resemble good trials more than the others; mutations "
      "are random",
      {{&Settings::startup,
        number_option("startup", Kind::kInt, 10, 1, 10'000, "number of ended trials before the model is used")},
       {&Settings::candidates,
        number_option("candidates", Kind::kInt, 24, 1, 10'000, "samples of which the most promising is proposed")},
       {&Settings::multivariate,
        flag_option("multivariate", true, "whether decisions that exist together are modelled jointly")},
       {&Settings::constant_liar, flag_option("constant_liar", true,
                                              "whether running trials count as bad ones, so that they are not "
                                              "proposed again")},
       {&Settings::gamma,
        text_option("gamma", "linear",
                    "number of good trials among n: min(ceil(n / 10), 25), or min(ceil(sqrt(n) / 4), 25) as "
                    "in hyperopt",
                    {"linear", "sqrt"})}});
}

}  // namespace lanista::search
