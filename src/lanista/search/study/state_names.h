#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"

// What the tensors of a trial's state are called.
namespace lanista::study {

/// Whether a tensor of a state is a parameter or a buffer of the model, known by its name: slots are called
/// "<parameter>/<slot>", what the run remembers "<of what>:<name>", and its counters "step" and "seed".
inline bool is_weight(const Tensor& tensor) {
  return tensor.name.find_first_of("/:") == std::string::npos && tensor.name != "step" && tensor.name != "seed";
}

/// The node that a parameter or buffer is of: 3 of "n3.weight". nullopt: the name is none of a model's.
inline std::optional<graph::NodeId> node_of(std::string_view name) {
  std::uint32_t id = 0;
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || !name.starts_with('n')) return std::nullopt;
  const auto parsed = std::from_chars(name.data() + 1, name.data() + dot, id);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + dot) return std::nullopt;
  return graph::NodeId{id};
}

}  // namespace lanista::study
