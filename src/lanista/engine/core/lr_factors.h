#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"

// Parts of a model that train at factors of the learning rate (`train.rates`).
namespace lanista::engine {

/// The factor of every node of `model` that a part holds. Of two parts that hold a node, the one inside the other
/// counts, which is the smaller. A part that this model does not have has no effect.
std::map<graph::NodeId, double> lr_factors_of(const study::TrainConfig& train, const graph::Graph& model);

/// The nodes that parts are named by; mutations are to leave them where they are
/// (mutate::ModelSpace::hold). Errors: kInvalidArgument with the
/// configuration key in `where`: a factor that is none, a part that the model does not have, holds nothing that is
/// trained, or shares nodes with another one without holding it.
Result<std::set<graph::NodeId>> check_rates(const study::TrainConfig& train, const graph::Graph& base,
                                            const std::set<graph::NodeId>& frozen, const graph::OpTable& ops);

}  // namespace lanista::engine
