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
#include "lanista/model/mutate/mutator.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/spaces/blueprint.h"

namespace lanista::mutate {

/// A blueprint that replaces the base models of a space, with the input and outputs of its models.
struct BlueprintSpace {
  std::string name;     ///< name of the blueprint, and of the one base model
  Blueprint blueprint;  ///< the tree of blocks
  ModelInterface ends;  ///< input and outputs of every model
};

/// Upper limits on the size of models. A model above a limit is rejected before it becomes a trial.
struct Limits {
  std::optional<double> params;  ///< largest number of elements of trained parameters; absent: no limit
  std::optional<double> flops;   ///< largest FLOPs of one sample's forward pass; absent: no limit
};

/// A named model from which mutations start.
struct BaseModel {
  std::string name;    ///< name in messages and logs, such as "small-mlp"
  graph::Graph graph;  ///< the model, which ModelSpace::make verifies
};

/// A model with the decisions and edits that make it from a base model.
struct Candidate {
  std::int64_t base = 0;                   ///< index of the base model in ModelSpace::bases()
  std::vector<space::MutationStep> steps;  ///< mutations in order
  std::vector<graph::Edit> edits;          ///< all edits from the base model: of a blueprint's sample, then of `steps`
  graph::Graph graph;                      ///< the model
  Digest hash;                             ///< graph hash of the model
};

/// A model space: base models or a blueprint, with mutators and limits. It makes the models of trials.
///
/// With a blueprint there is one base model. The model of a hyper-parameter sample is that base model with edits, and
/// mutations follow. A value; const functions are thread-safe.
class ModelSpace {
 public:
  /// Makes a space of base models. Errors: as in `graph::verify` (kNotFound, kInvalidArgument) for an invalid base
  /// model; kInvalidArgument if there is no base model, or if one exceeds the limits. `where` is the name of the base
  /// model; empty if there is none.
  static Result<ModelSpace> make(graph::OpTable ops, std::vector<BaseModel> bases,
                                 std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                 Limits limits);
  /// Makes a space of a blueprint. `base` is the stored base model of a study that resumes; absent for a new study.
  ///
  /// Without `base`, the base model is that of the first grid point, or of the first of 999 fixed random samples that
  /// makes a model. Errors: as in `graph::verify` (kNotFound, kInvalidArgument) for an invalid base model;
  /// kInvalidArgument if it exceeds the limits, or with the last reason if no sample makes a model.
  static Result<ModelSpace> make(graph::OpTable ops, BlueprintSpace blueprint, std::optional<BaseModel> base,
                                 std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                 Limits limits);

  /// Freezes nodes of the base models, by id. Then mutate() rejects a mutation that changes such a node or makes it
  /// depend on a trained node. model_of_sample() and rebuild() do not check this. The ids replace those of an earlier
  /// call. Errors: as in `graph::cut_behind_frozen` (kNotFound, kInvalidArgument, kNotApplicable, kUnimplemented) for a
  /// base model; the frozen nodes then stay as before.
  Result<void> freeze(std::set<graph::NodeId> nodes);
  /// The ids of the frozen nodes. Empty before freeze().
  const std::set<graph::NodeId>& frozen() const { return frozen_; }

  /// Protects nodes of the one base model, by id. Then mutate() rejects a mutation that removes such a node, changes
  /// its label, or gives its label to another node. The ids replace those of an earlier call. A space with a blueprint
  /// or several base models, and a node that the base model lacks, are bugs of the caller.
  void keep_labels(std::set<graph::NodeId> nodes);

  /// The table of operators of all models.
  const graph::OpTable& ops() const { return *ops_; }
  /// The base models, by index. At least one.
  const std::vector<BaseModel>& bases() const { return bases_; }
  /// True if the space was made from a blueprint.
  bool has_blueprint() const { return blueprint_.has_value(); }
  /// The number of mutators; 0: models cannot be mutated.
  std::size_t mutator_count() const { return mutators_.size(); }

  /// The candidate of base model number `index`, without mutations. An index that does not exist is a bug of the
  /// caller.
  Candidate base(std::int64_t index) const;
  /// The choices of the blueprint as parameters of a search space, such as "model.depth". Empty without a blueprint.
  std::vector<space::Parameter> parameters() const;
  /// The model of a hyper-parameter sample before mutations: with a blueprint its expansion, otherwise base model
  /// number `base`. Errors, only with a blueprint: kNotApplicable if the sample makes no model or one above the limits;
  /// kInvalidArgument if it does not fit parameters(). A base model that does not exist is a bug of the caller.
  Result<Candidate> model_of_sample(std::int64_t base, const space::Sample& sample) const;
  /// Applies recorded mutations to a candidate again. Errors: kNotApplicable if one does not apply, asks other
  /// questions than the record, exceeds the limits, or changes frozen or protected nodes.
  Result<Candidate> replay(Candidate candidate, std::span<const space::MutationStep> steps) const;
  /// Applies one mutation to `parent`. `choose` selects the mutator (question "mutator") and makes all its decisions.
  ///
  /// Then each identity without a label that reads another identity is removed, so that models do not grow without
  /// effect. Errors: kNotApplicable if there is no mutator, or if the mutation does not apply, exceeds the limits, or
  /// changes frozen or protected nodes.
  Result<Candidate> mutate(const Candidate& parent, space::Chooser& choose) const;
  /// Applies `count` random mutations one after the other, with decisions from random streams that are split from
  /// `rng`.
  ///
  /// For each of them up to 32 attempts are made, plus 8 for each frozen or protected node. Errors: kNotApplicable with
  /// the last reason if none applies, or at once if there is no mutator.
  Result<Candidate> mutate(const Candidate& parent, std::int64_t count, const Rng& rng) const;
  /// Applies stored edits to base model number `base`. Errors: kDataLoss if there is no such base model, or if the
  /// edits do not fit it.
  Result<graph::Graph> rebuild(std::int64_t base, std::span<const graph::Edit> edits) const;
  /// Checks a model against the limits. Errors: kNotApplicable with the number and the limit that it exceeds; as in
  /// `graph::model_cost` (kNotFound, kInvalidArgument) for an invalid model, if there is a limit.
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

/// The data for which a built-in base model is made: shape of the samples and number of outputs.
struct BaseRequirements {
  /// Neighbouring features of a table that encode one category in one-hot form.
  struct Category {
    std::int64_t begin = 0;  ///< index of the first feature
    std::int64_t size = 0;   ///< number of features, one for each value of the category
  };

  graph::Shape input;                     ///< Shape of one sample, without batch.
  std::int64_t outputs = 0;               ///< Number of outputs (for classes: of classes).
  std::int64_t vocab = 0;                 ///< Number of different tokens, for an input of tokens [T]; 0: real numbers.
  std::int64_t positions = 0;             ///< Number of positions with separate outputs; 0: outputs for whole samples.
  std::vector<Category> categories = {};  ///< One-hot categories of a table, ascending by `begin`.
};

/// Makes a built-in base model by name, for the given data.
///
/// - "small-mlp": linear to 64 features, relu, linear to the outputs. An input of several dimensions is flattened.
/// - "small-cnn": two 3x3 convolutions with 16 and 32 channels, each with relu and 2x2 max-pooling, then linear. It
///   needs images [C, H, W] of at least 4x4.
/// - "small-transformer": for tokens. 32 features with positions, two blocks of attention with four heads and a hidden
///   layer of 128, then the mean over positions. With `positions`, attention is causal and there is no mean.
/// - "embedding-mlp": for tables. Each category of four or more values has an embedding: a linear layer without bias,
///   as wide as the square root of their number, rounded up (2 to 16). The embeddings and the other features then pass
///   through the layers of "small-mlp". It needs at least one such category.
///
/// With `vocab` above 0, "small-mlp" and "small-transformer" start with an embedding of tokens. "small-transformer"
/// needs `vocab`, and only it accepts `positions`, which must equal the length of the input.
/// Errors: kNotFound for an unknown name, with the known names; kInvalidArgument if the model does not fit the data.
Result<BaseModel> builtin_base(std::string_view name, const BaseRequirements& wanted);
/// Makes a built-in base model by name, for data without one-hot categories. The arguments are the fields of
/// `BaseRequirements`. Errors: kNotFound for an unknown name; kInvalidArgument if the model does not fit the data.
inline Result<BaseModel> builtin_base(std::string_view name, const graph::Shape& input, std::int64_t outputs,
                                      std::int64_t vocab = 0, std::int64_t positions = 0) {
  return builtin_base(name, BaseRequirements{input, outputs, vocab, positions});
}
/// The names from which `builtin:auto` selects: all except "embedding-mlp", in a fixed order.
std::vector<std::string> builtin_base_names();

}  // namespace lanista::mutate
