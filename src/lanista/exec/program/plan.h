#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::program {

/// A value that a call reads or writes, as a plan shows it.
struct PlanValue {
  graph::Shape shape;   ///< In logical order.
  std::string layout;   ///< layout_name of its layout.
  std::string address;  ///< Memory space and byte offset, e.g. "arena+256".
};

/// The values as text, joined by ", ", e.g. "[N, 64] plain input+0, [64, 64] in_out parameter+0". Empty: no values.
std::string values_text(const std::vector<PlanValue>& values);

/// One kernel call of a program for people and for cost models. Counts are those of one lane with a full batch, or with
/// the largest part of it if the batch comes in parts.
struct PlanLine {
  std::string section;                     ///< "train", "commit" or "infer".
  std::optional<graph::NodeId> node;       ///< Node of the step graph; none for the commit.
  std::string op;                          ///< The operator that the kernel serves; for the commit the optimiser.
  std::string kernel;                      ///< Name of the kernel; a fusion has its own.
  std::string family;                      ///< Level and element type of the kernel, e.g. "avx2 float32".
  std::string attrs;                       ///< E.g. "kernel=[3], out=16"; may be empty.
  std::vector<PlanValue> inputs, outputs;  ///< Values in order.
  std::int64_t batch = 0;                  ///< Samples of the call.
  double flops = 0;  ///< Multiplications and additions, a multiply-add as two; 0 for calls that mainly move data.
  double bytes = 0;  ///< Bytes read and written, each value once; what a commit updates counts twice.

  /// A key of all that decides the call's time on a machine: family, kernel, attributes and shapes. Lines with equal
  /// keys are the same work, also across programs.
  std::string cost_key() const;
  /// One line, e.g. "train %5 linear([N, 64] plain input+0, [64, 64] in_out parameter+0) -> [N, 64] plain arena+0".
  std::string text() const;
};

}  // namespace lanista::program
