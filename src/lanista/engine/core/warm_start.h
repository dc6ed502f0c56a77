#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/transfer/transfer.h"
#include "lanista/search/study/study_view.h"

// Warm starts that the engine chooses (`train.start`). A record holds the pairing method and a hash of the transfer
// plan. The plan is a function of both models, the method and the trial's seed; it is computed again where needed.
namespace lanista::engine {

/// Pairing method: nodes with equal ids (zoo::lineage_mapping).
inline constexpr std::string_view kByLineage = "lineage";
/// Pairing method: the graph matching of zoo::match.
inline constexpr std::string_view kByMatch = "match";

/// Least coverage, from 0 to 1, of a useful start that does not keep the parent's function.
inline constexpr double kMinCoverage = 0.1;

/// The weights that a child model takes from a parent.
struct Inheritance {
  /// Pairing method, version and hash of the plan, for study::Start::plan: "lineage 1 0123456789abcdef".
  std::string plan_text;
  zoo::TransferPlan plan;  ///< Source of each tensor of the child.
  double coverage = 0;     ///< Share of the child's weights that the plan fills, from 0 to 1 (zoo::inherited_share).
  /// Sort key of starts: first whether the child keeps the parent's function, then the coverage. A greater key is more
  /// useful.
  std::pair<bool, double> usefulness() const { return {plan.exact, coverage}; }
  /// True if the start is worth using: it keeps the parent's function, or its coverage is at least kMinCoverage.
  bool is_useful() const { return plan.exact || coverage >= kMinCoverage; }
};
/// A possible start, and the weights that the child takes from it.
struct StartOption {
  study::Start start;       ///< The trial, file or zoo model from which the weights come.
  Inheritance inheritance;  ///< The weights that the child takes, and how useful they are.
};
/// Importance of each unit of a parent, by node and in order of its units; higher is more important
/// (zoo::TransferOptions::scores).
using UnitScores = std::map<graph::NodeId, std::vector<double>>;
/// The weights that `child` takes from `parent` if nodes are paired by the method `how` (kByLineage or kByMatch). Nodes
/// of `frozen` are left out. `seed` selects units where the child has fewer, unless `scores` ranks them. Errors:
/// kInvalidArgument (no such method), those of zoo::plan_transfer.
Result<Inheritance> plan_inheritance(std::string_view how, const graph::Graph& parent, const graph::Graph& child,
                                     std::uint64_t seed, const std::set<graph::NodeId>& frozen,
                                     const graph::OpTable& ops, const UnitScores& scores = {});
/// The transfer plan of a job for this start, in which `scores` selects the units of `parent` that stay (Job::parent).
/// Errors: those of plan_inheritance.
Result<zoo::TransferPlan> plan_by_scores(const Job& job, const study::Start& start, const graph::Graph& parent,
                                         const UnitScores& scores, const graph::OpTable& ops);
/// The more useful result of plan_inheritance with both pairing methods; kByLineage if both are equal. Errors: those of
/// plan_inheritance.
Result<Inheritance> best_inheritance(const graph::Graph& parent, const graph::Graph& child, std::uint64_t seed,
                                     const std::set<graph::NodeId>& frozen, const graph::OpTable& ops);

/// The value of study::Start::optimizer for a start with this plan and a child with this hyper-parameter sample. It is
/// kOptimizerCarried if the child computes the parent's function, each of its elements is one of the parent's, and both
/// have the same optimiser. Otherwise it is the reason, as text, why the optimiser state is not taken.
std::string optimizer_transfer(const study::StudyView& view, const study::Start& start, const zoo::TransferPlan& plan,
                               const space::Sample& child);

/// Names of the classes of parent and child.
struct ClassLabels {
  std::vector<std::string> parent, child;  ///< Names in the order of class numbers; empty: unknown.
};
/// Pairs the rows of the last linear layer by class name if both sides have names. A class that the parent lacks starts
/// with random values. Without names and with another number of classes, the whole layer does. A model without a last
/// linear layer keeps its plan. Errors: those of graph::parameters (kNotFound, kInvalidArgument).
Result<Inheritance> match_classes(Inheritance inheritance, const ClassLabels& labels, const graph::Graph& parent,
                                  const graph::Graph& child, const graph::OpTable& ops);

/// Computes the plan of a recorded start again. Errors: kDataLoss (its hash is not the recorded one), those of
/// plan_inheritance.
Result<zoo::TransferPlan> recorded_plan(const study::Start& start, const graph::Graph& parent,
                                        const graph::Graph& child, std::uint64_t seed,
                                        const std::set<graph::NodeId>& frozen, const ClassLabels& labels,
                                        const graph::OpTable& ops);

/// The model and the weights of the start file that train.start names.
struct ReadStart {
  study::StartFile file;        ///< Source, graph and class names, as in a header; the address is empty.
  std::vector<Tensor> weights;  ///< Its parameters and buffers.
};
/// Reads the file that train.start names: an ONNX file or the folder of a model package. A relative path starts at
/// `folder`. With train.start_from: base it is the ONNX file of the first base model. Errors: kInvalidArgument (no
/// weights, or a package of several models), kNotFound (no such file), those of reading it; `where` is
/// "train.start_from".
Result<ReadStart> read_start_file(const study::StudyConfig& config, const std::string& folder, FileSystem& fs,
                                  const graph::OpTable& ops);
/// One sentence for users about the weights that a base model takes from the start file: "base net.onnx: 87 % of its
/// weights, the same function". If the start is not useful, it states that the base begins with random values. Errors:
/// those of graph::parse and best_inheritance.
Result<std::string> describe_start(const ReadStart& start, const mutate::BaseModel& base, const data::DataSpec& data,
                                   const graph::OpTable& ops);
/// Class names of a start file and of the study's data; both are empty if the start is no file.
ClassLabels labels_of(const study::StudyView& view, const study::Start& start);

/// A base model for other data. Its input shape becomes that of the data if the rank is equal. The outputs of its last
/// linear layer become those that the data need. Errors: those of graph::infer_shapes (kNotFound, kInvalidArgument),
/// and of graph::verify (kNotFound, kInvalidArgument) (the result is not a valid model).
Result<graph::Graph> adapt_base(const graph::Graph& base, const data::DataSpec& data, const graph::OpTable& ops);

/// The model from which a start takes its weights: of a zoo model, of the start file, or of a trial. Errors: kDataLoss
/// (the study has no such model), those of study::trial_model.
Result<graph::Graph> start_model(const study::StudyView& view, const study::Start& start, const graph::OpTable& ops);
/// Sets Job::transfer. It also sets the parent models if the loss selects
/// their units (train.start_shrink), but not for a start file or a job with a frozen part. The job's frozen part must
/// be set before. A start without a plan or an address stays unchanged. Errors: those of start_model and recorded_plan.
Result<void> plan_start(Job& job, const study::StudyView& view, const graph::OpTable& ops);

}  // namespace lanista::engine
