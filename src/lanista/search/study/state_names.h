#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

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
  std::uint32_t id = 0;
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || !name.starts_with('n')) return std::nullopt;
  const auto parsed = std::from_chars(name.data() + 1, name.data() + dot, id);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + dot) return std::nullopt;
  return graph::NodeId{id};
}

}  // namespace lanista::study
