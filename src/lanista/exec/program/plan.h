#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::nn {

/// A value that a call reads or writes, as the plan tells of it.
struct PlanValue {
  graph::Shape shape;  ///< in logical order
  std::string layout;  ///< how it lies in memory
  std::string address;   ///< "arena+256": memory space and byte
};

/// "[N, 64] plain input+0, [64, 64] in_out parameter+0"
std::string values_text(const std::vector<PlanValue>& values);

/// One call of a program: what is computed, by which kernel, on what, and how much of it there is in one lane with a
/// full batch.
struct PlanLine {
  std::string section;  ///< "train", "commit" or "infer"
  std::optional<graph::NodeId> node;
  std::string op;      ///< the operator that the kernel serves
  std::string kernel;  ///< a fusion has a name of its own
  std::string family;  ///< "avx2 float32": level and element type of the kernel
  std::string attrs;   ///< "kernel=[3], out=16"; may be empty
  std::vector<PlanValue> inputs, outputs;
  std::int64_t batch = 0;  ///< samples
  double flops = 0;        ///< counted multiplications and additions; 0 where only the traffic matters
  double bytes = 0;        ///< read and written, every value once

  /// All that decides the line's time on a machine: family, kernel, attributes, shapes. Lines of one work are the same
  /// work, in this program or in another.
  std::string cost_key() const;
  /// "train %5 linear([N, 64] plain input+0, [64, 64] in_out parameter+0) -> [N, 64] plain arena+0"
  std::string text() const;
};

}  // namespace lanista::nn
