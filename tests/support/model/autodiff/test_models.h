#pragma once

#include <map>
#include <string>

#include "lanista/model/graph/graph.h"

namespace lanista::autodiff::testing {

/// Returns the model of a text. Throws if the text is invalid, which fails the test.
graph::Graph parsed(const std::string& text);

/// input[64] - linear 64 - relu - linear 10 - output.
graph::Graph small_mlp();

/// For every built-in operator except input and output, a model for cross-entropy with trained layers before and
/// after it, so that it must propagate gradients.
std::map<std::string, std::string> model_of_each_operator();

}  // namespace lanista::autodiff::testing
