#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "lanista/base/parse_number.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"

// Names of the tensors in the state of a trial.
namespace lanista::study {

/// True if the tensor is a parameter or a buffer of the model. Optimiser state has names "<parameter>/<slot>", other
/// state of a run has "<owner>:<name>", and counters are "step" and "seed".
inline bool is_weight(const Tensor& tensor) {
  return tensor.name.find_first_of("/:") == std::string::npos && tensor.name != "step" && tensor.name != "seed";
}

/// Returns the node of a parameter or buffer: 3 for "n3.weight". nullopt: the name has another form.
inline std::optional<graph::NodeId> node_of(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || !name.starts_with('n')) return std::nullopt;
  const auto id = parse_number<std::uint32_t>(name.substr(1, dot - 1));
  return id ? std::optional(graph::NodeId{*id}) : std::nullopt;
}

}  // namespace lanista::study
