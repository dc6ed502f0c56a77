#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/program/plan.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"

namespace lanista::device {

/// Tensors by the graph port that produces them.
using Values = std::map<graph::Port, Tensor>;

/// Ordered list of ATen calls for the nodes of a step graph. A value is released after its last reader.
class AtenSection {
 public:
  /// Makes a section without calls.
  AtenSection() = default;
  /// Returns a section with the calls of the nodes `order` of `graph`, in this order.
  ///
  /// `name` is shown in the plan. Calls come from `table`; two of them with an entry in `fusions` become one. Values in
  /// `keep` stay until the end of the step. `updatable_parameters` maps gradients to the parameters that an update may
  /// change together with the gradient. Such a gradient is computed after the last reader of its parameter, unless
  /// another call of the section reads the gradient. Errors: kUnimplemented for an operator without a
  /// table entry; the message names it and an alternative.
  static Result<AtenSection> make(const std::string& name, const graph::Graph& graph, const graph::Types& types,
                                  const std::vector<graph::NodeId>& order, const std::set<graph::Port>& keep,
                                  const graph::OpTable& ops, const AtenTable& table, const AtenFusions& fusions = {},
                                  const std::map<graph::Port, graph::Port>& updatable_parameters = {});

  /// Runs all calls in order. `values` must have the values that the calls read from outside; it receives those of
  /// `keep`. All other values that a call reads, also those from outside, are removed from it.
  ///
  /// `done` is called after every call of the plan. Throws DeviceOutOfMemory or std::runtime_error, with the name of
  /// the operator, for any exception of ATen.
  void run(const Frame& frame, Values& values, const std::function<void()>& done = {}) const;
  /// Returns the attributes that each lane may set to its own value.
  const std::vector<program::LaneAttr>& lane_attrs() const { return lane_attrs_; }
  /// Returns true if a call samples random masks.
  bool has_random_masks() const { return samples_masks_; }
  /// Returns one line per call for program::Executable::describe, in the order of the calls.
  const std::vector<program::PlanLine>& plan() const { return plan_; }
  /// Returns the gradients of `updatable_parameters` that a call may apply at once instead of storing them
  /// (`Frame::fused_updates`).
  const std::set<graph::Port>& fused_gradients() const { return fused_gradients_; }

 private:
  struct Call {
    std::string op;
    AtenRun run;
    std::vector<graph::Port> inputs, outputs, dead_values;
    program::PlanLine line;
    bool narrow = false;
  };
  void delay_fused_updates(const std::map<graph::Port, graph::Port>& updatable_parameters);

  std::vector<Call> calls_;
  std::vector<program::LaneAttr> lane_attrs_;
  std::vector<program::PlanLine> plan_;
  bool samples_masks_ = false;
  std::set<graph::Port> fused_gradients_;
};

}  // namespace lanista::device
