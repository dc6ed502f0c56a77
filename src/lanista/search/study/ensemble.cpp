#include "lanista/search/study/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "lanista/base/check.h"
#include "lanista/search/study/record_table.h"

namespace lanista::study {
namespace {

using fields::FieldTable;
using nlohmann::json;
using Selections = std::vector<std::int64_t>;

/// Largest relative difference of two losses that counts as rounding.
constexpr double kRounding = 1e-9;

Selections shortened(Selections selections) {
  std::int64_t by = 0;
  for (const std::int64_t count : selections) by = std::gcd(by, count);
  for (std::int64_t& count : selections) count /= by;
  return selections;
}

std::int64_t models_in(const Selections& selections) {
  return std::ranges::count_if(selections, [](std::int64_t count) { return count > 0; });
}

void table(FieldTable& t, Ensemble::Member& member) {
  t("trial", member.trial).at_least(1, "draws", member.selections);
}

void table(FieldTable& t, Ensemble& ensemble) {
  t.list("members", ensemble.members, table);
  std::set<TrialId> trials;
  for (const Ensemble::Member& member : ensemble.members) {
    t.check(trials.insert(member.trial).second, "an ensemble has a trial twice");
  }
  t.check(!ensemble.members.empty(), "an ensemble without members");
  t("validation", ensemble.validation)("test", ensemble.test);
}

bool is_clearly_less(double a, double b) { return a < b - kRounding * std::max(std::abs(a), std::abs(b)); }

}  // namespace

std::vector<double> Ensemble::shares() const {
  std::int64_t sum = 0;
  for (const Member& member : members) sum += member.selections;
  std::vector<double> out;
  for (const Member& member : members) out.push_back(static_cast<double>(member.selections) / static_cast<double>(sum));
  return out;
}

json ensemble_json(const Ensemble& ensemble) { return fields::write_table(ensemble, table); }
Ensemble read_ensemble(const json& in) { return fields::read_part<Ensemble>(in, table); }

Result<Selections> select_ensemble(std::size_t models, std::int64_t most, const EnsembleLoss& loss) {
  LANISTA_CHECK(models > 0, "an ensemble of an empty library");
  std::map<Selections, std::optional<double>> known;
  const auto loss_of = [&](const Selections& selections) -> Result<std::optional<double>> {
    const Selections key = shortened(selections);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    LANISTA_ASSIGN(std::optional<double> value, loss(key));
    if (value && std::isnan(*value)) value.reset();
    return known.emplace(key, value).first->second;
  };

  Selections selected(models, 0);
  selected[0] = 1;
  Selections best = selected;
  LANISTA_ASSIGN(std::optional<double> best_loss, loss_of(selected));
  if (!best_loss) return best;
  for (std::int64_t count = 1; count < most; ++count) {
    std::optional<std::tuple<double, bool, std::size_t>> next;  // loss, true for a new model, index of the model
    for (std::size_t k = 0; k < models; ++k) {
      Selections with = selected;
      ++with[k];
      LANISTA_ASSIGN(const std::optional<double> value, loss_of(with));
      if (!value) continue;
      const std::tuple candidate{*value, selected[k] == 0, k};
      if (!next || candidate < *next) next = candidate;
    }
    if (!next) break;
    ++selected[std::get<2>(*next)];
    const double now = std::get<0>(*next);
    const bool tied = !is_clearly_less(*best_loss, now);
    if (is_clearly_less(now, *best_loss) || (tied && models_in(selected) < models_in(best))) {
      best = selected;
      best_loss = now;
    }
  }
  return shortened(best);
}

}  // namespace lanista::study
