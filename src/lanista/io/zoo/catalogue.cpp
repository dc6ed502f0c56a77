#include "lanista/io/zoo/catalogue.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "lanista/model/transfer/alignment.h"
#include "lanista/model/transfer/function_overlap.h"

namespace lanista::zoo {
namespace {

/// The least benefit of a candidate.
constexpr double kMinStartBenefit = 0.05;

/// The share of models that are no better.
double rank_of(double quality, const std::vector<double>& ascending) {
  const auto no_better = std::ranges::upper_bound(ascending, quality) - ascending.begin();
  return ascending.empty() ? 1.0 : static_cast<double>(no_better) / static_cast<double>(ascending.size());
}

}  // namespace

bool Catalogue::preferred(const Listed& a, const Listed& b) {
  const CatalogueEntry &x = a.entry, &y = b.entry;
  return std::tuple(x.quality, x.age, std::string_view(y.id)) > std::tuple(y.quality, y.age, std::string_view(x.id));
}

Result<void> Catalogue::add(CatalogueEntry entry, const MatchModel& model) {
  return add(std::move(entry), pack_model(model, signatures_));
}

Result<void> Catalogue::add(CatalogueEntry entry, PackedModel model) {
  if (entry.id.empty()) return Error{Code::kInvalidArgument, "a model of the zoo needs an id", ""};
  if (!std::isfinite(entry.quality)) {
    return Error{Code::kInvalidArgument, "model " + entry.id + ": its quality is no finite number", ""};
  }
  auto& place = entries_[entry.id];
  if (place != nullptr) return Error{Code::kAlreadyExists, "model " + entry.id + " is in the zoo already", ""};
  place = std::make_shared<const Listed>(Listed{std::move(entry), std::move(model)});
  by_task_[place->entry.task].push_back(place.get());
  by_hash_[{place->entry.task, place->model.hash}].push_back(place.get());
  return {};
}

void Catalogue::rank_only(CatalogueEntry entry) {
  if (std::isfinite(entry.quality)) rank_only_[entry.id] = std::move(entry);
}

bool Catalogue::remove(const std::string& id) {
  rank_only_.erase(id);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  const Listed* listed = found->second.get();
  std::erase(by_task_[listed->entry.task], listed);
  std::erase(by_hash_[{listed->entry.task, listed->model.hash}], listed);
  entries_.erase(found);
  return true;
}

/// The preferred model among those with the child's hash.
std::optional<ParentMatch> Catalogue::same(const MatchModel& child, const std::string& task,
                                           const SearchOptions& search) const {
  const auto found = by_hash_.find({task, child.hash});
  if (found == by_hash_.end()) return std::nullopt;
  const Listed* chosen = nullptr;
  for (const Listed* each : found->second) {
    if (search.admits && !search.admits(each->entry)) continue;
    if (chosen == nullptr || preferred(*each, *chosen)) chosen = each;
  }
  if (chosen == nullptr) return std::nullopt;
  const Listed& one = *chosen;
  const MatchOptions& options = search.match;
  Signatures table;
  const PackedModel packed = pack_model(child, table);
  const NodePairs pairs = identical_pairs(one.model, packed);
  ParentMatch out{one.entry, {}};
  for (const auto& [i, j] : pairs) out.match.pairs.push_back({one.model.ids[i], packed.ids[j]});
  if (pairs.empty()) {
    const ChildModel side(child, options);
    const PairTable pair_table(signatures_, side.signatures);
    Alignment alignment(side, signatures_, pair_table);
    out.match.score = alignment.run(one.model);
    out.match = match_of(improved(alignment.pairs(), one.model, side, pair_table), out.match.score, one.model, side,
                         pair_table);
    return out;
  }
  const std::vector<double> weights = node_weights(child, options);
  out.match.score = std::accumulate(weights.begin(), weights.end(), 0.0);
  out.match.overlap = child.params;
  out.match.coverage = out.match.retention = out.match.sim = out.match.start_benefit = 1;
  return out;
}

/// Qualities among which candidates are ranked, ascending.
std::vector<double> Catalogue::ranked(const std::string& task, const SearchOptions& options) const {
  const auto& counts = options.ranks ? options.ranks : options.admits;
  std::vector<double> out;
  for (const Listed* one : by_task_.at(task)) {
    if (!counts || counts(one->entry)) out.push_back(one->entry.quality);
  }
  for (const auto& [id, entry] : rank_only_) {
    if (entry.task == task && (!options.ranks || options.ranks(entry))) out.push_back(entry.quality);
  }
  std::ranges::sort(out);
  return out;
}

/// The best parent if no model equals the child.
std::optional<ParentMatch> Catalogue::most_similar(const MatchModel& child, const std::string& task,
                                                   const SearchOptions& options, std::int64_t& aligned) const {
  const ChildModel side(child, options.match);
  const PairTable table(signatures_, side.signatures);
  std::vector<const Listed*> admitted;
  for (const Listed* one : by_task_.at(task)) {
    if (options.admits && !options.admits(one->entry)) continue;
    admitted.push_back(one);
  }
  const std::vector<double> qualities = ranked(task, options);
  const auto score_of = [&](const Listed& one, double start_benefit, double keeps) {
    return start_score(start_benefit, keeps, rank_of(one.entry.quality, qualities));
  };
  const FunctionOverlapBound max_kept_share(side, signatures_, table);
  std::vector<std::pair<double, const Listed*>> order;
  for (const Listed* one : admitted) {
    const std::int64_t most = overlap_bound(one->model, side.model, table);
    const double bound = benefit_of(most, side.model.params, one->model.params);
    if (bound >= kMinStartBenefit || options.exhaustive)
      order.emplace_back(score_of(*one, bound, max_kept_share.of(one->model)), one);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : preferred(*a.second, *b.second);
  });
  Alignment alignment(side, signatures_, table);
  const Listed* known = nullptr;
  double reached = 0;
  std::optional<ParentMatch> best;
  const auto loses = [&](double value_of, const Listed& one) {
    return known != nullptr && (value_of < reached || (value_of == reached && !preferred(one, *known)));
  };
  for (const auto& [bound, one] : order) {
    if (!options.exhaustive && loses(bound, *one)) {
      if (bound < reached) break;
      continue;
    }
    ++aligned;
    const double score = alignment.run(one->model);
    const NodePairs pairs = improved(alignment.pairs(), one->model, side, table);
    Match match = match_of(pairs, score, one->model, side, table);
    const double value_of = score_of(*one, match.start_benefit, function_overlap(pairs, one->model, side, table));
    if (match.start_benefit < kMinStartBenefit || loses(value_of, *one)) continue;
    reached = value_of;
    known = one;
    best = ParentMatch{one->entry, std::move(match)};
  }
  return best;
}

std::optional<ParentMatch> Catalogue::best(const MatchModel& child, const std::string& task,
                                           const SearchOptions& options, SearchStats* count) const {
  SearchStats counted;
  std::optional<ParentMatch> best;
  const auto is_task_average = by_task_.find(task);
  if (is_task_average != by_task_.end()) {
    counted.candidates = static_cast<std::int64_t>(is_task_average->second.size());
    best = same(child, task, options);
    if (!best) best = most_similar(child, task, options, counted.aligned);
  }
  if (count != nullptr) *count = counted;
  return best;
}

}  // namespace lanista::zoo
