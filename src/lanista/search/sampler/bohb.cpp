#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/portable_math.h"
#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/kde.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/decisions.h"
#include "lanista/search/sampler/learning_sampler.h"

namespace lanista::search {
namespace {

constexpr double kMinLogDensity = -73.68272297580947;  ///< Lower bound of a log density, log(1e-32).

struct BohbSettings {
  double random_fraction = 0, widening = 0;
  std::int64_t candidates = 0, top_percent = 0;
  MutationCount mutations;
};

/// The model of BOHB (Falkner et al., ICML'18). It proposes the candidate near a good trial with the highest ratio of
/// two kernel densities: that of good trials over that of bad trials, over all decisions together. A third of all
/// proposals is random.
///
/// The model of the largest budget with enough results is used. A budget is an epoch at which some trial paused or
/// ended, so the sampler does not depend on the halving. Trials that continued count there too, with their losses at
/// that epoch. Enough are d + 1 good and d + 1 bad results, where d is the number of decisions.
///
/// A failed trial counts as bad at every budget up to its own. A result of NaN or infinity counts as bad. Neither is
/// ever good.
class Bohb final : public LearningSampler<BohbSettings> {
 public:
  Bohb(const Context& context, const BohbSettings& settings, std::string_view name)
      : LearningSampler(context, settings, name), decisions_(context, false) {
    for (const auto& group : decisions_.groups()) {
      const auto* choice = std::get_if<space::Categorical>(&decisions_.domain(group[0]));
      levels_.push_back(choice == nullptr ? 0 : choice->values.size());
    }
  }

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    Rng coin = rng.split("coin");
    if (coin.bernoulli(settings_.random_fraction) || model() == nullptr)
      return random_unique(proposal_sampler_, rng, duplicates);
    return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("model"),
                            [&](const Rng& r) { return propose(r); });
  }

  void fold_event(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      target_[proposed->trial] = proposed->proposal.budget;
    } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
      target_[resumed->trial] = resumed->budget;
    }
    auto seen = history_.observe(event);
    if (seen && seen->outcome != study::OutcomeKind::kCancelled) add_result(*std::move(seen));
    if (const auto* ended = std::get_if<study::Ended>(&event)) target_.erase(ended->trial);
  }

 private:
  using Row = std::vector<std::optional<double>>;  ///< One coordinate per decision; none if the trial does not have it.
  /// A trial that paused or ended.
  struct TrialRow {
    Observation trial;  ///< Its measurements, without the proposal.
    Row row;
    std::int64_t target = 0;  ///< Budget to which it trained. It counts for a failed trial.
  };
  struct Model {
    ProductKde good, bad;
  };

  void add_result(Observation trial) {
    if (!trial.losses.empty()) budgets_.insert(trial.epoch);
    TrialRow row{{}, row_of(trial.proposal), target_[trial.trial]};
    trial.proposal = {};
    row.trial = std::move(trial);
    rows_[row.trial.trial] = std::move(row);
    model_.reset();
  }

  Row row_of(const study::Proposal& proposal) const {
    const DecisionList::DecisionValues answers = decisions_.values_of(proposal);
    Row row;
    for (const auto& group : decisions_.groups()) {
      const auto& answer = answers[group[0]];
      row.push_back(answer ? std::optional(coordinate(decisions_.domain(group[0]), *answer)) : std::nullopt);
    }
    return row;
  }
  static double coordinate(const space::Domain& domain, const space::Value& value) {
    if (const auto* choice = std::get_if<space::Categorical>(&domain)) {
      return static_cast<double>(std::ranges::find(choice->values, value) - choice->values.begin());
    }
    return space::unit_position(domain, value);
  }

  std::size_t min_rows() const { return levels_.size() + 1; }

  /// Returns the model of the largest budget with enough results, or null.
  const Model* model() const {
    if (!model_) {
      model_.emplace();
      for (auto budget = budgets_.rbegin(); budget != budgets_.rend() && !*model_ && !levels_.empty(); ++budget) {
        *model_ = model_of(*budget);
      }
    }
    return *model_ ? &**model_ : nullptr;
  }

  /// Returns the results of a budget, the best first, and how many have a usable loss. Those without one come last.
  std::pair<std::vector<const TrialRow*>, std::size_t> ordered(std::int64_t budget) const {
    std::vector<const TrialRow*> usable, lost;
    std::vector<EpochLosses> readings;
    for (const auto& [id, row] : rows_) {
      auto epoch_losses = losses_at(row.trial, budget);
      if (!epoch_losses) {
        const bool failed = row.trial.losses.empty();
        if (failed && budget <= std::max(row.target, row.trial.epoch)) lost.push_back(&row);
        continue;
      }
      const bool is_usable = std::ranges::none_of(epoch_losses->losses, [](double loss) {
        return std::isnan(loss) || loss == std::numeric_limits<double>::infinity();
      });
      (is_usable ? usable : lost).push_back(&row);
      if (is_usable) readings.push_back(*std::move(epoch_losses));
    }
    const std::vector<std::int64_t> rank = rank_by_fronts(readings);
    std::vector<std::size_t> order(usable.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
    std::vector<const TrialRow*> out;
    for (const std::size_t i : order) out.push_back(usable[i]);
    out.insert(out.end(), lost.begin(), lost.end());
    return {std::move(out), usable.size()};
  }

  /// Returns the model of a budget, or nullopt if it has too few results.
  std::optional<Model> model_of(std::int64_t budget) const {
    const auto [all, usable] = ordered(budget);
    const std::size_t n = all.size(), percent = static_cast<std::size_t>(settings_.top_percent);
    if (n < 2 * min_rows() || usable < min_rows()) return std::nullopt;
    const std::size_t good = std::min({std::max(min_rows(), n * percent / 100), usable, n - min_rows()});
    const std::size_t bad = std::min(std::max(min_rows(), n * (100 - percent) / 100), n - good);
    const auto begin = all.begin(), middle = begin + static_cast<std::ptrdiff_t>(good);
    const Rng rng = context().rng.split("imputed");
    return Model{density({begin, middle}, rng), density({middle, middle + static_cast<std::ptrdiff_t>(bad)}, rng)};
  }

  /// Returns the density of trials. A decision that a trial does not have is imputed.
  ProductKde density(const std::vector<const TrialRow*>& trials, const Rng& rng) const {
    std::vector<std::vector<double>> rows;
    for (const TrialRow* each : trials) {
      std::vector<double>& row = rows.emplace_back();
      for (std::size_t k = 0; k < levels_.size(); ++k) {
        row.push_back(each->row[k] ? *each->row[k] : imputed(trials, k, rng.split(each->trial.trial.value).split(k)));
      }
    }
    return {levels_, std::move(rows)};
  }
  /// Returns the value of a random row that has the decision, else a sample of the whole axis.
  double imputed(const std::vector<const TrialRow*>& trials, std::size_t axis, Rng rng) const {
    std::vector<double> present;
    for (const TrialRow* each : trials) {
      if (each->row[axis]) present.push_back(*each->row[axis]);
    }
    if (!present.empty()) return present[rng.below(present.size())];
    return levels_[axis] == 0 ? rng.uniform() : static_cast<double>(rng.below(levels_[axis]));
  }

  Result<study::Proposal> propose(const Rng& rng) const {
    const Model& model = *this->model();
    std::vector<double> best;
    double highest = 0;
    for (std::int64_t i = 0; i < settings_.candidates; ++i) {
      std::vector<double> at =
          model.good.sample_near_row(rng.split("candidate").split(static_cast<std::uint64_t>(i)), settings_.widening);
      const double gain =
          std::max(model.good.log_density(at), kMinLogDensity) - std::max(model.bad.log_density(at), kMinLogDensity);
      if (!best.empty() && gain <= highest) continue;
      best = std::move(at);
      highest = gain;
    }
    auto [base, sample] = decisions_.choose_values([&](std::size_t group) -> std::vector<space::Value> {
      const space::Domain& domain = decisions_.domain(decisions_.groups()[group][0]);
      const double at = best[group];
      if (const auto* choice = std::get_if<space::Categorical>(&domain)) {
        return {choice->values[static_cast<std::size_t>(at)]};
      }
      return {space::value_at(domain, at)};
    });
    return proposal_sampler_.mutated(base, std::move(sample), rng);
  }

  DecisionList decisions_;
  std::vector<std::size_t> levels_;  ///< Number of levels per decision; 0 for a number.
  std::map<TrialId, TrialRow> rows_;
  std::map<TrialId, std::int64_t> target_;             ///< Budgets of trials that have not ended.
  std::set<std::int64_t> budgets_;                     ///< Epochs at which a trial paused or ended.
  mutable std::optional<std::optional<Model>> model_;  ///< Function of rows_, kept until they change.
};

}  // namespace

StrategyPlugin bohb_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<Bohb, BohbSettings>(
      "bohb",
      "model of BOHB: two kernel densities over all decisions, at the largest budget with enough results; with stop: "
      "{rule: hyperband} it is BOHB",
      {{&BohbSettings::random_fraction,
        number_option("random_fraction", Kind::kReal, 1.0 / 3, 0, 1, "share of random proposals")},
       {&BohbSettings::candidates,
        number_option("candidates", Kind::kInt, 64, 1, 10'000, "samples of which the most promising is proposed")},
       {&BohbSettings::top_percent, number_option("top_percent", Kind::kInt, 15, 1, 99, "percentage of good trials")},
       {&BohbSettings::widening,
        number_option("widening", Kind::kReal, 3.0, 1e-3, 100, "factor of the bandwidths for samples")}});
}

}  // namespace lanista::search
