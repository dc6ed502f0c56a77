#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/model/transfer/match.h"
#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// A trained model from which others may start.
struct CatalogueEntry {
  std::string id;        ///< of the model
  std::string task;      ///< models of other tasks are never offered
  double quality = 0;    ///< its result; larger is better, comparable within a task
  std::int64_t age = 0;  ///< an increasing number; of two models of equal quality the one with the larger is offered
};

/// The model from which a child should start.
struct ParentMatch {
  CatalogueEntry entry;  ///< the model
  Match match;           ///< how its graph matches the child's
};

/// What a start is worth, in [0, 1].
///
/// `start_benefit` is Match::start_benefit, `keeps` is the part of the parent's function that remains
/// (function_overlap). `rank` is the share of the candidates that are no better than the parent, since qualities have
/// any scale. The weights come from measured savings of trainings with random parents (`lanista bench warm-start`).
inline double start_score(double start_benefit, double keeps, double rank) {
  return (3 * start_benefit + keeps + rank) / 5;
}

/// How to search for a parent.
struct SearchOptions {
  MatchOptions match = {};                                 ///< of the alignment
  std::function<bool(const CatalogueEntry&)> admits = {};  ///< which models are candidates; empty: all
  /// The models among which candidates are ranked by quality. Empty: the admitted ones and those of rank_only(). A
  /// choice that must not change when a candidate is removed needs a function that does not depend on it.
  std::function<bool(const CatalogueEntry&)> ranks = {};
  bool exhaustive = false;  ///< aligns every model, for tests and benchmarks; the result is the same
};

/// Counts of a search.
struct SearchStats {
  std::int64_t candidates = 0;  ///< models of the task
  std::int64_t aligned = 0;     ///< models that were aligned
};

/// Models in memory. Reading is thread-safe. Copies share the models.
class Catalogue {
 public:
  /// Adds a model. Errors: kAlreadyExists (the id), kInvalidArgument (no id, or a quality that is not finite).
  Result<void> add(CatalogueEntry entry, const MatchModel& model);
  /// Adds a packed model over `signatures()`. Errors: as above.
  Result<void> add(CatalogueEntry entry, PackedModel model);
  /// Adds a model that is never offered. Candidates of its task are ranked among its quality, if that is finite, until
  /// remove().
  void rank_only(CatalogueEntry entry);
  /// Removes a model. Returns false if no model has the id.
  bool remove(const std::string& id);
  std::size_t size() const { return entries_.size(); }
  /// The signatures of all packed models.
  Signatures& signatures() { return signatures_; }

  /// The best parent among the admitted models of a task.
  ///
  /// A model with the same graph as the child comes first. Otherwise the one with the highest start_score() wins, among
  /// those with a benefit of at least 0.05. Ties are resolved by quality, then by age, then by id.
  ///
  /// Models are aligned in descending order of an upper bound of their score, and only while the bound allows a choice,
  /// so that none is missed. Equal models are found by hash in O(log entries) without an alignment. Otherwise it costs
  /// O(entries x (bound + log)) and the alignments.
  std::optional<ParentMatch> best(const MatchModel& child, const std::string& task, const SearchOptions& options = {},
                                  SearchStats* count = nullptr) const;

 private:
  struct Listed {
    CatalogueEntry entry;
    PackedModel model;
  };
  static bool preferred(const Listed& a, const Listed& b);
  std::optional<ParentMatch> most_similar(const MatchModel& child, const std::string& task,
                                          const SearchOptions& options, std::int64_t& aligned) const;
  std::optional<ParentMatch> same(const MatchModel& child, const std::string& task, const SearchOptions& options) const;

  std::vector<double> ranked(const std::string& task, const SearchOptions& options) const;

  Signatures signatures_;
  std::map<std::string, CatalogueEntry> rank_only_;
  std::map<std::string, std::shared_ptr<const Listed>> entries_;
  std::map<std::string, std::vector<const Listed*>> by_task_;
  std::map<std::pair<std::string, Digest>, std::vector<const Listed*>> by_hash_;
};

}  // namespace lanista::zoo
