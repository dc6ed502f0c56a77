#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/model/space/domain.h"

namespace lanista::space {

/// One decision: a question of a search space or mutator, and its answer.
struct Decision {
  std::string label;       ///< name of the question
  std::int64_t count = 0;  ///< number of possible answers; 0: a number of a continuous domain
  Value answer;            ///< answer of index(): an index; of sample_value(): a value
  bool operator==(const Decision&) const = default;
};
/// The decisions of one use of a chooser, in the order of the questions.
using Trace = std::vector<Decision>;
/// Returns a trace as JSON: a list of [label, count, answer].
nlohmann::json trace_json(const Trace& trace);
/// Reads a trace from the JSON of `trace_json`. Errors: kInvalidArgument with the part that does not fit.
Result<Trace> trace_from_json(const nlohmann::json& json);

/// One application of a mutator with its decisions, which can be replayed.
struct MutationStep {
  std::string mutator;  ///< name of the mutator
  Trace trace;          ///< decisions of the mutator
  bool operator==(const MutationStep&) const = default;
};

/// Makes and records the decisions of a search space or a mutator, which asks a question for each decision.
///
/// Every decision passes through a chooser. So decisions can be sampled at random, enumerated, or replayed. Not
/// thread-safe.
class Chooser {
 public:
  virtual ~Chooser() = default;

  /// Chooses and records a number in [0, count). A `count` below 1 is a bug of the caller.
  std::int64_t index(std::string_view label, std::int64_t count);
  /// Chooses and records a value of a domain.
  Value sample_value(std::string_view label, const Domain& domain);
  /// Chooses an element of a list, which must not be empty, and records its index.
  template <class T>
  const T& one_of(std::string_view label, const std::vector<T>& candidates) {
    return candidates[static_cast<std::size_t>(index(label, static_cast<std::int64_t>(candidates.size())))];
  }
  /// The decisions so far, in the order of the questions. The reference shows later decisions.
  const Trace& trace() const { return trace_; }

 protected:
  /// Returns the answer of index(), which index() records.
  virtual std::int64_t pick_index(std::string_view label, std::int64_t count) = 0;
  /// Returns the answer of sample_value(), which sample_value() records.
  virtual Value pick_value(std::string_view label, const Domain& domain) = 0;

 private:
  Trace trace_;
};

/// A chooser that samples its answers from a random stream, uniformly or log-uniformly as the domain defines.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(Rng rng) : rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override;
  Value pick_value(std::string_view label, const Domain& domain) override;

 private:
  Rng rng_;
};

/// A chooser that returns recorded answers, for replay.
///
/// If a question differs from the record, status() has an error from then on. That question and all later ones get
/// index 0 or the first value of the domain.
class ReplayChooser final : public Chooser {
 public:
  explicit ReplayChooser(Trace record) : record_(std::move(record)) {}
  /// Success if the questions so far equal those of the record and use all of its decisions. Errors: kDataLoss if a
  /// label or a count differs, a recorded answer is not possible, or the record has too few or too many decisions.
  Result<void> status() const;

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override;
  Value pick_value(std::string_view label, const Domain& domain) override;

 private:
  const Decision* next(std::string_view label, std::int64_t count);
  Trace record_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

/// A chooser for grid search: it returns combination number `index` (from 0) of all combinations of answers.
///
/// The answers are the digits of `index` in a mixed-radix system. The first question is the lowest digit. In a space
/// with conditions, an index may be exhausted() although greater ones are not.
class GridChooser final : public Chooser {
 public:
  /// A continuous domain counts as `grain` values at equal distances, bounds included. A `grain` of 1 gives its middle.
  GridChooser(std::uint64_t index, std::int64_t grain) : rest_(index), grain_(grain) {}
  /// After the last question: true if `index` is above the number of the last combination.
  bool exhausted() const { return rest_ > 0; }

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override;
  Value pick_value(std::string_view label, const Domain& domain) override;

 private:
  std::uint64_t rest_;
  std::int64_t grain_;
};

}  // namespace lanista::space
