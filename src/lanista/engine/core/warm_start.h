#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/spec.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/study_view.h"
#include "lanista/model/transfer/transfer.h"

// Starts with other weights that the engine chooses (`train.start`). A record holds how nodes were paired and a hash of
// the plan; the plan itself is a function of both models, that word and the trial's seed, and is made again by whoever
// needs it.
namespace lanista::engine {

/// How nodes of two models are paired.
inline constexpr std::string_view kByLineage = "lineage";  ///< by their ids (zoo::lineage_mapping)
inline constexpr std::string_view kByMatch = "match";      ///< by zoo::match

/// A start that brings less, and keeps no function, is none.
inline constexpr double kMinCoverage = 0.1;

/// What a child takes of a parent.
struct Inheritance {
  std::string plan_text;  ///< of study::Start::plan: "lineage 1 0123456789abcdef"
  zoo::TransferPlan plan;
  double coverage = 0;  ///< zoo::inherited_share
  std::pair<bool, double> usefulness() const { return {plan.exact, coverage}; }  ///< more is better
  bool is_useful() const { return plan.exact || coverage >= kMinCoverage; }
};
using UnitScores = std::map<graph::NodeId, std::vector<double>>;  ///< zoo::TransferOptions::scores
/// Pairs by `how`. Of what is not trained (`frozen`) the plan says nothing. Errors: kInvalidArgument (no such way);
/// those of zoo::plan_transfer.
Result<Inheritance> plan_inheritance(std::string_view how, const graph::Graph& parent, const graph::Graph& child,
                            std::uint64_t seed, const std::set<graph::NodeId>& frozen, const graph::OpTable& ops,
                            const UnitScores& scores = {});
/// The plan of a job for this start, where `scores` say which of the units of `parent` stay (Job::parent).
Result<zoo::TransferPlan> plan_by_scores(const Job& job, const study::Start& start, const graph::Graph& parent,
                                      const UnitScores& scores, const graph::OpTable& ops);
/// The way that keeps the function, or else inherits more; lineage of two that are alike.
Result<Inheritance> best_inheritance(const graph::Graph& parent, const graph::Graph& child, std::uint64_t seed,
                                 const std::set<graph::NodeId>& frozen, const graph::OpTable& ops);

/// What study::Start::optimizer says of a start with this plan, for a child of this sample: kOptimizerCarried where the
/// child computes the parent's function, each of its elements is one of the parent's, and both have one optimiser. Else
/// a factor of bias correction and slots would be of different ages in one tensor, or of other gradients.
std::string optimizer_transfer(const study::StudyView& view, const study::Start& start, const zoo::TransferPlan& plan,
                           const space::Sample& child);

/// What the classes of parent and child are called; a side that does not say is empty.
struct ClassLabels {
  std::vector<std::string> parent, child;
};
/// Rows of the last layer by the labels of classes, where both sides say them; where either does not, and there is
/// another number of classes, the last layer is fresh. Of models that end in a linear layer; any other keeps its plan.
Result<Inheritance> match_classes(Inheritance inheritance, const ClassLabels& labels, const graph::Graph& parent,
                                 const graph::Graph& child, const graph::OpTable& ops);

/// The plan from a start's record. Errors: kDataLoss (the plan is not the one that was recorded, by a build that
/// plans otherwise).
Result<zoo::TransferPlan> recorded_plan(const study::Start& start, const graph::Graph& parent,
                                        const graph::Graph& child, std::uint64_t seed,
                                        const std::set<graph::NodeId>& frozen, const ClassLabels& labels,
                                        const graph::OpTable& ops);

/// The file that train.start asks for, as a header has it, but for the address: its weights are `weights`. Errors:
/// kInvalidArgument and kNotFound with the key in `where`; those of files.
struct ReadStart {
  study::StartFile file;
  std::vector<Tensor> weights;
};
Result<ReadStart> read_start_file(const study::StudyConfig& config, const std::string& folder, FileSystem& fs,
                                  const graph::OpTable& ops);
/// What a base model takes of the file, in a sentence: "base net.onnx: 87 % of its weights, the same function".
Result<std::string> describe_start(const ReadStart& start, const mutate::BaseModel& base, const data::DataSpec& data,
                                  const graph::OpTable& ops);
ClassLabels labels_of(const study::StudyView& view, const study::Start& start);

/// A base model with the inputs and the classes of other data: the shape of its input, where that has as many
/// dimensions, and the outputs of its last layer, where that is linear. Errors: verify's (it does not fit together so).
Result<graph::Graph> adapt_base(const graph::Graph& base, const data::DataSpec& data, const graph::OpTable& ops);

/// The model whose weights a start takes. Errors: study::trial_model's, kDataLoss.
Result<graph::Graph> start_model(const study::StudyView& view, const study::Start& start, const graph::OpTable& ops);
/// Puts the plan of its start into a job whose frozen part is known, and the model that it is of, where the loss
/// chooses its units (train.start_shrink); one without a plan stays as it is. Errors: start_model's, recorded_plan's.
Result<void> plan_start(Job& job, const study::StudyView& view, const graph::OpTable& ops);

}  // namespace lanista::engine
