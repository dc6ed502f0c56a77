#pragma once

#include <map>
#include <string>

#include "lanista/model/graph/graph.h"

namespace lanista::step::testing {

/// The model of a text; a text that does not parse fails the test by throwing.
graph::Graph parsed(const std::string& text);

/// input[64] - linear 64 - relu - linear 10 - output.
graph::Graph small_mlp();

/// For every shipped operator but input and output a model for cross-entropy in which trained layers stand before and
/// behind it, so that it must pass gradients on.
std::map<std::string, std::string> model_of_each_operator();

}  // namespace lanista::step::testing
