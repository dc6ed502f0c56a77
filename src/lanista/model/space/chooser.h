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

/// One decision: what was asked, among how many (0: a continuous domain), and what was answered.
struct Decision {
  std::string label;
  std::int64_t count = 0;
  Value answer;  ///< the index for a choice among `count`, the value for a domain
  bool operator==(const Decision&) const = default;
};
using Trace = std::vector<Decision>;
nlohmann::json trace_json(const Trace& trace);
Result<Trace> trace_from_json(const nlohmann::json& json);

/// The trace of one application of one mutator.
struct MutationStep {
  std::string mutator;
  Trace trace;
  bool operator==(const MutationStep&) const = default;
};

/// The only place where a strategy enters a space or a mutator: every decision is asked here and recorded, so that it
/// can be drawn at random, enumerated, or replayed.
class Chooser {
 public:
  virtual ~Chooser() = default;

  /// A number in 0..count-1; count > 0.
  std::int64_t index(std::string_view label, std::int64_t count);
  /// A value of the domain.
  Value draw(std::string_view label, const Domain& domain);
  template <class T>
  const T& one_of(std::string_view label, const std::vector<T>& candidates) {
    return candidates[static_cast<std::size_t>(index(label, static_cast<std::int64_t>(candidates.size())))];
  }
  const Trace& trace() const { return trace_; }

 protected:
  virtual std::int64_t pick_index(std::string_view label, std::int64_t count) = 0;
  virtual Value pick_value(std::string_view label, const Domain& domain) = 0;

 private:
  Trace trace_;
};

/// Draws from a random stream.
class RandomChooser final : public Chooser {
 public:
  explicit RandomChooser(Rng rng) : rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override;
  Value pick_value(std::string_view label, const Domain& domain) override;

 private:
  Rng rng_;
};

/// Gives recorded answers. A question that does not fit the record gets the first candidate, and `status` tells.
class ReplayChooser final : public Chooser {
 public:
  explicit ReplayChooser(Trace record) : record_(std::move(record)) {}
  /// Errors: kDataLoss (label, count or domain differs, record too short or not used up).
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

/// Answers a fixed mixed-radix number: index i of all combinations, in the order of questions; for grids. Continuous
/// domains count as `grain` values. After the run `exhausted()` tells whether i was beyond the last combination.
class GridChooser final : public Chooser {
 public:
  GridChooser(std::uint64_t index, std::int64_t grain) : rest_(index), grain_(grain) {}
  bool exhausted() const { return rest_ > 0; }

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override;
  Value pick_value(std::string_view label, const Domain& domain) override;

 private:
  std::uint64_t rest_;
  std::int64_t grain_;
};

}  // namespace lanista::space
