#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"

// Parts of a model with their own factor of the learning rate (`train.rates`).
namespace lanista::engine {

/// The learning-rate factor of every node of `model` that is in a part of `train.rates`. Nodes without a part are not
/// listed. If a node is in two parts, the smaller part counts, which lies inside the other. A part that the model does
/// not have is ignored.
std::map<graph::NodeId, double> lr_factors_of(const study::TrainConfig& train, const graph::Graph& model);

/// Checks the parts of `train.rates` and returns the nodes of `base` that name them. Mutations must keep these nodes
/// (mutate::ModelSpace::keep_labels). The parts `base` and `head` name no node.
///
/// Errors: kInvalidArgument with the configuration key in `where`: an invalid factor, a part that the model does not
/// have, a part without trained nodes, or two parts that overlap without one inside the other.
Result<std::set<graph::NodeId>> check_rates(const study::TrainConfig& train, const graph::Graph& base,
                                            const std::set<graph::NodeId>& frozen, const graph::OpTable& ops);

}  // namespace lanista::engine
