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

/// A trained model of a catalogue, from which the training of others may start.
struct CatalogueEntry {
  std::string id;      ///< Id of the model, unique in a catalogue.
  std::string task;    ///< Task or family; a search finds models with an equal text only.
  double quality = 0;  ///< Result of the model; larger is better, comparable within a task.
  /// Number of the change that added it; of two models of equal quality the one with the larger number is offered.
  std::int64_t age = 0;
};

/// The parent model that a search chose for a child model.
struct ParentMatch {
  CatalogueEntry entry;  ///< the parent
  Match match;           ///< how its graph matches the child's
};

/// The score of a start from a parent, (3 start_benefit + keeps + rank) / 5, in [0, 1]; larger is better.
///
/// `start_benefit` is Match::start_benefit. `keeps` is the part of the parent's function that the child keeps
/// (function_overlap()). `rank` is the share of candidates with a quality of at most the parent's. All are in [0, 1].
/// The weights come from measured savings of trainings with random parents (`lanista bench warm-start`).
inline double start_score(double start_benefit, double keeps, double rank) {
  return (3 * start_benefit + keeps + rank) / 5;
}

/// Settings of a search for a parent.
struct SearchOptions {
  MatchOptions match = {};                                 ///< settings of the alignment
  std::function<bool(const CatalogueEntry&)> admits = {};  ///< true: the model is a candidate; empty: all are
  /// True: the model counts when candidates are ranked by quality. Empty: candidates and models of rank_only() count. A
  /// caller for which a removed candidate must not change the ranks gives a function that does not depend on it.
  std::function<bool(const CatalogueEntry&)> ranks = {};
  bool exhaustive = false;  ///< true: aligns every model, for tests and benchmarks; the result is the same
};

/// Counts of one search.
struct SearchStats {
  std::int64_t candidates = 0;  ///< number of models of the task, also those that SearchOptions::admits refuses
  std::int64_t aligned = 0;     ///< number of models that were aligned with the child; 0 if an equal model was found
};

/// Trained models in memory, by task, with a search for the best parent. Several threads may call const functions at a
/// time, if none changes it. Copies share the models.
class Catalogue {
 public:
  /// Adds a model that best() may offer. Errors: kAlreadyExists (the id), kInvalidArgument (an empty id, or a quality
  /// that is not finite).
  Result<void> add(CatalogueEntry entry, const MatchModel& model);
  /// Adds a packed model with indices into signatures(). Errors: kAlreadyExists (the id), kInvalidArgument (an empty
  /// id, or a quality that is not finite).
  Result<void> add(CatalogueEntry entry, PackedModel model);
  /// Adds a quality without a model: candidates of entry.task are ranked against it until remove(), but it is never
  /// offered. An entry with a quality that is not finite is ignored.
  void rank_only(CatalogueEntry entry);
  /// Removes a model and an entry of rank_only(). True: a model had the id; false also for an entry of rank_only()
  /// alone.
  bool remove(const std::string& id);
  /// The number of models, without entries of rank_only().
  std::size_t size() const { return entries_.size(); }
  /// The table of node signatures that all packed models of this catalogue refer to.
  Signatures& signatures() { return signatures_; }

  /// The best parent for `child` among the candidates of `task`; none if there is none. `count` may be null.
  ///
  /// A candidate with the graph hash of the child comes first. Otherwise the one with the largest start_score() is
  /// chosen, among those with a Match::start_benefit of at least 0.05. Ties are resolved by quality, then by age
  /// (larger first), then by id (smaller first).
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
