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

/// A trained model that others may start from.
struct CatalogueEntry {
  std::string id;
  std::string task;      ///< models of other tasks are never offered
  double quality = 0;    ///< what it reached; larger is better, comparable within a task
  std::int64_t age = 0;  ///< any clock that counts upwards: of two that are as good the younger is offered
};

/// The model that a child should start from.
struct ParentMatch {
  CatalogueEntry entry;
  Match match;
};

/// What a start is worth, in [0, 1]: what it brings (Match::brings), what it keeps of the parent's function
/// (function_overlap), and how far the parent is: its rank, the share of the candidates that are no better, since a
/// quality may be of any scale. The weights are what steps were saved by in trainings that began with parents drawn at
/// random (bench/RESULTS.md, `lanista bench warm-start`).
inline double start_score(double start_benefit, double keeps, double rank) { return (3 * start_benefit + keeps + rank) / 5; }

struct SearchOptions {
  MatchOptions match = {};
  std::function<bool(const CatalogueEntry&)> admits = {};  ///< others are no candidates; without it all are
  /// Among whose qualities candidates are ranked; without it those that are admitted, and all that are only ranked. A
  /// choice that has to stay the same when a candidate falls away needs one that does not ask for that.
  std::function<bool(const CatalogueEntry&)> ranks = {};
  bool exhaustive = false;  ///< align with every model, for tests and benchmarks; the answer is the same
};

struct SearchStats {
  std::int64_t candidates = 0;  ///< models of the task
  std::int64_t aligned = 0;     ///< with whom the whole table was filled
};

/// Models in memory. Reading is thread-safe; copies share the models.
class Catalogue {
 public:
  /// Errors: kAlreadyExists (an id), kInvalidArgument (no id, or a quality that is no number).
  Result<void> add(CatalogueEntry entry, const MatchModel& model);
  /// The same with a model over `signatures()`.
  Result<void> add(CatalogueEntry entry, PackedModel model);
  /// A model that is never offered, but still one of its task among whose qualities others are ranked; one whose
  /// quality is no number is not. Until remove().
  void rank_only(CatalogueEntry entry);
  /// False if no model has the id.
  bool remove(const std::string& id);
  std::size_t size() const { return entries_.size(); }
  /// For models that are added packed.
  Signatures& signatures() { return signatures_; }

  /// Of the admitted models of the task: one that is the same as the child, if there is one; else the one of the
  /// highest start_score, of those that bring 0.05 at least. Of several the best, of equally good ones the youngest,
  /// then the first id. Models are aligned in descending order of a bound of their worth and of preference, and only
  /// where the bound lets them be chosen; so none is missed. The same model is found by its hash, in O(log entries),
  /// without an alignment; else O(entries x (bound + log)) and what is aligned.
  std::optional<ParentMatch> best(const MatchModel& child, const std::string& task, const SearchOptions& options = {},
                            SearchStats* count = nullptr) const;

 private:
  struct Listed {
    CatalogueEntry entry;
    PackedModel model;
  };
  static bool preferred(const Listed& a, const Listed& b);
  std::optional<ParentMatch> most_similar(const MatchModel& child, const std::string& task, const SearchOptions& options,
                             std::int64_t& aligned) const;
  std::optional<ParentMatch> same(const MatchModel& child, const std::string& task, const SearchOptions& options) const;

  std::vector<double> ranked(const std::string& task, const SearchOptions& options) const;

  Signatures signatures_;
  std::map<std::string, CatalogueEntry> rank_only_;
  std::map<std::string, std::shared_ptr<const Listed>> entries_;
  std::map<std::string, std::vector<const Listed*>> by_task_;
  std::map<std::pair<std::string, Digest>, std::vector<const Listed*>> by_hash_;
};

}  // namespace lanista::zoo
