#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/spaces/blueprint.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/model/space/chooser.h"

namespace lanista::mutate {

/// A space of models in place of bases, and what its models stand between.
struct BlueprintSpace {
  std::string name;
  Blueprint blueprint;
  ModelInterface ends;
};

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

/// Base models, or a blueprint, + mutators + limits: everything that may be built. A value that many threads may read.
///
/// Over a blueprint there is one base model, and every model that a sample draws is that base with edits; mutations
/// come on top.
class ModelSpace {
 public:
  /// Errors: verify's, for a base; kInvalidArgument if there is no base or a base breaks the limits.
  static Result<ModelSpace> make(graph::OpTable ops, std::vector<BaseModel> bases,
                                 std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                 Limits limits);
  /// Over a blueprint. `base`: the base model of a study that has begun; without it, it is the model of the first
  /// sample (then of random ones, always the same) that makes one. Errors: as above; kInvalidArgument with the last
  /// reason if none of a thousand samples makes a model.
  static Result<ModelSpace> make(graph::OpTable ops, BlueprintSpace blueprint, std::optional<BaseModel> base,
                                 std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                 Limits limits);

  /// From here on no mutation changes these nodes of the bases, or comes between them: what they compute of a sample is
  /// the same in all models, which train what stands behind. Errors: those of graph::cut_behind_frozen, for a base.
  Result<void> freeze(std::set<graph::NodeId> nodes);
  const std::set<graph::NodeId>& frozen() const { return frozen_; }

  /// From here on no mutation takes these nodes of the one base away, or gives their labels to others, so that they are
  /// found in all models by what they are called. Not of a blueprint.
  void keep_labels(std::set<graph::NodeId> nodes);

  const graph::OpTable& ops() const { return *ops_; }
  const std::vector<BaseModel>& bases() const { return bases_; }
  bool has_blueprint() const { return blueprint_.has_value(); }
  std::size_t mutator_count() const { return mutators_.size(); }

  Candidate base(std::int64_t index) const;
  /// The choices of the blueprint as parameters of the study ("model.depth"); empty without one.
  std::vector<space::Parameter> parameters() const;
  /// The model a sample draws: the base model, or what the blueprint makes of its choices. Errors: kNotApplicable, also
  /// when the limits are broken; kInvalidArgument if the sample lacks a choice.
  Result<Candidate> model_of_sample(std::int64_t base, const space::Sample& sample) const;
  /// `candidate` after recorded mutations. Errors: kNotApplicable if one does not fit (any more), or the limits break.
  Result<Candidate> replay(Candidate candidate, std::span<const space::MutationStep> steps) const;
  /// `parent` after one mutation: the mutator ("mutator") and its decisions are drawn from `choose`. Identities that
  /// then stand in a row become one, so that models do not grow by what does nothing. Errors:
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
  Result<graph::Graph> expanded(const space::Sample& choices) const;
  Result<BaseModel> first_model() const;
  Result<void> check_frozen(std::int64_t base, const graph::Graph& model) const;
  Result<void> check_kept_labels(const graph::Graph& model) const;

  std::shared_ptr<const graph::OpTable> ops_;
  std::optional<BlueprintSpace> blueprint_;
  std::vector<BaseModel> bases_;
  std::vector<std::shared_ptr<const Mutator>> mutators_;
  RepairPolicy repair_;
  Limits limits_;
  std::set<graph::NodeId> frozen_, labelled_nodes_;
};

/// What a built-in base is fitted to.
struct BaseRequirements {
  /// A run of features that are the zeros and ones of a category.
  struct Category {
    std::int64_t begin = 0, size = 0;
  };

  graph::Shape input;
  std::int64_t outputs = 0;
  std::int64_t vocab = 0;      ///< the input is tokens [T] below it; 0: real numbers
  std::int64_t positions = 0;  ///< outputs are given at each of the tokens; 0: once
  std::vector<Category> categories = {};  ///< of a table's features, ascending
};

/// Built-in bases fitted to the data: "small-mlp" (linear 64, relu, linear classes) and "small-cnn" (3x3 convolutions
/// with 16 and 32 channels, each relu and 2x2 max-pooling, then linear). Input [C, H, W] is flattened for the mlp; the
/// cnn needs rank 3. Tokens begin with an embedding, and there is "small-transformer" (32 features, positions, two
/// blocks of attention with four heads and a hidden layer of 128, mean over the positions; where every position
/// answers, causal attention and no mean: the others do not suit). "embedding-mlp" is for tables with categories: each
/// of four values and more has a linear layer of its own without bias, as wide as the root of their number (2 to 16),
/// which is an embedding of them; what these give and the other features go through the layers of the mlp. Errors:
/// kNotFound with the known names; kInvalidArgument if the input does not suit.
Result<BaseModel> builtin_base(std::string_view name, const BaseRequirements& wanted);
inline Result<BaseModel> builtin_base(std::string_view name, const graph::Shape& input, std::int64_t outputs,
                                      std::int64_t vocab = 0, std::int64_t positions = 0) {
  return builtin_base(name, BaseRequirements{input, outputs, vocab, positions});
}
/// Those that builtin:auto chooses from: all but "embedding-mlp", which is for those who name it.
std::vector<std::string> builtin_base_names();

}  // namespace lanista::mutate
