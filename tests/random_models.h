#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::testing {

struct RandomModelOptions {
  std::int64_t max_operators = 12;     ///< operators that are drawn; what brings shapes together stands between them
  std::int64_t max_elements = 128;     ///< of a value, a sample
  std::int64_t max_weights = 1500;     ///< of a parameter
  bool classes = false;                ///< the output is [N, classes] with two classes or more
  std::set<std::string> without = {};  ///< operators that are not drawn; flatten, reshape, linear and add may stand
};

/// A model over the whole operator table that verifies: chains and graphs with joins, in which values are used several
/// times, by one node and by many. Operators, inputs and attributes are drawn at random and kept where the operator's
/// own inference accepts them, so that an operator added to the table is drawn without a word here; `random_attrs.h`
/// only makes likely what would rarely be accepted by chance. The same `rng` gives the same model.
graph::Graph random_model(Rng rng, const graph::OpTable& ops, const RandomModelOptions& options = {});

/// Features of `n` samples for the model's input: standard normal, or token numbers, of which one in five is unknown to
/// the smallest vocabulary that reads them or negative.
std::vector<float> random_features(Rng& rng, const graph::Graph& model, const graph::OpTable& ops, std::int64_t n);

}  // namespace lanista::testing
