#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::nn {

/// A value that a call reads or writes, as a plan shows it.
struct PlanValue {
  graph::Shape shape;   ///< in logical order
  std::string layout;   ///< layout_name of its layout
  std::string address;  ///< memory space and byte offset, e.g. "arena+256"
};

/// The values as text, e.g. "[N, 64] plain input+0, [64, 64] in_out parameter+0".
std::string values_text(const std::vector<PlanValue>& values);

/// One call of a program: its operator, kernel and values. Counts are those of one lane with a full batch.
struct PlanLine {
  std::string section;  ///< "train", "commit" or "infer"
  std::optional<graph::NodeId> node;
  std::string op;      ///< the operator that the kernel serves
  std::string kernel;  ///< name of the kernel; a fusion has its own
  std::string family;  ///< level and element type of the kernel, e.g. "avx2 float32"
  std::string attrs;   ///< e.g. "kernel=[3], out=16"; may be empty
  std::vector<PlanValue> inputs, outputs;
  std::int64_t batch = 0;  ///< samples
  double flops = 0;        ///< multiplications and additions; 0 for calls that mainly move data
  double bytes = 0;        ///< bytes read and written, each value once

  /// The facts that decide the call's time on a machine: family, kernel, attributes and shapes. Lines with equal keys
  /// are the same work, also across programs.
  std::string cost_key() const;
  /// One line, e.g. "train %5 linear([N, 64] plain input+0, [64, 64] in_out parameter+0) -> [N, 64] plain arena+0".
  std::string text() const;
};

}  // namespace lanista::nn
