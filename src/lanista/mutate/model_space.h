#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/graph/editor.h"
#include "lanista/mutate/mutator.h"
#include "lanista/space/chooser.h"

namespace lanista::mutate {

/// Bounds checked before training; a model beyond them is never a "failed trial".
struct Limits {
  std::optional<double> params;  ///< trained parameters, at most
  std::optional<double> flops;   ///< forward FLOPs per sample, at most
};

/// A base model and its name ("small-mlp").
struct BaseModel {
  std::string name;
  graph::Graph graph;
};

/// A model as decisions: which base, which mutations, and their primitive edits.
struct Candidate {
  std::int64_t base = 0;
  std::vector<space::MutationStep> steps;
  std::vector<graph::Edit> edits;
  graph::Graph graph;
  Digest hash;
};

/// Base models + mutators + limits: everything that may be built. A value that many threads may read.
class ModelSpace {
 public:
  /// Errors: verify's, for a base; kInvalidArgument if there is no base or a base breaks the limits.
  static Result<ModelSpace> make(graph::OpTable ops, std::vector<BaseModel> bases,
                                 std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                 Limits limits);

  const graph::OpTable& ops() const { return *ops_; }
  const std::vector<BaseModel>& bases() const { return bases_; }
  std::size_t mutator_count() const { return mutators_.size(); }

  Candidate base(std::int64_t index) const;
  /// `parent` after one mutation: the mutator ("mutator") and its decisions are drawn from `choose`. Errors:
  /// kNotApplicable, also when the limits are broken.
  Result<Candidate> mutate(const Candidate& parent, space::Chooser& choose) const;
  /// `count` mutations one after the other; a draw that does not apply is drawn again, up to 32 times each, from splits
  /// of `rng`. Errors: kNotApplicable with the last reason.
  Result<Candidate> mutate(const Candidate& parent, std::int64_t count, const Rng& rng) const;
  /// Rebuilds a model from its stored edits. Errors: kDataLoss.
  Result<graph::Graph> rebuild(std::int64_t base, std::span<const graph::Edit> edits) const;
  /// Errors: kNotApplicable with the number seen and the limit.
  Result<void> check_limits(const graph::Graph& model) const;

 private:
  std::shared_ptr<const graph::OpTable> ops_;
  std::vector<BaseModel> bases_;
  std::vector<std::shared_ptr<const Mutator>> mutators_;
  RepairPolicy repair_;
  Limits limits_;
};

/// Built-in bases fitted to the data: "small-mlp" (linear 64, relu, linear classes) and "small-cnn" (3x3 convolutions
/// with 16 and 32 channels, each relu and 2x2 max-pooling, then linear). Input [C, H, W] is flattened for the mlp; the
/// cnn needs rank 3. Errors: kNotFound with the known names; kInvalidArgument if the input does not suit.
Result<BaseModel> builtin_base(std::string_view name, const graph::Shape& input, std::int64_t outputs);
std::vector<std::string> builtin_base_names();

}  // namespace lanista::mutate
