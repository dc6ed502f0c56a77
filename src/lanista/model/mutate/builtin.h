#pragma once

#include <utility>

#include "lanista/model/mutate/model_view.h"
#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

/// A mutator that reads the types of the model.
class ViewMutator : public Mutator {
 public:
  /// `name` is what name() returns.
  explicit ViewMutator(std::string name) : name_(std::move(name)) {}

  std::string_view name() const final { return name_; }

  Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                              space::Chooser& choose) const final {
    LANISTA_ASSIGN(const ModelView view, ModelView::make(base, ops));
    return edit(view, repair, choose);
  }

 private:
  /// apply() for the model of the view.
  virtual Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair,
                                     space::Chooser& choose) const = 0;

  std::string name_;
};

/// Mutator: replaces an operator by another of its group, such as relu by gelu.
MutatorPlugin swap_op_plugin();
/// Mutator: multiplies the width of a hidden linear or convolutional layer by a factor.
MutatorPlugin widen_plugin();
/// Mutator: adds a layer of the same width and an activation after a hidden layer. The new layer is linear, a
/// convolution, or a copy of the hidden layer.
MutatorPlugin deepen_plugin();
/// Mutator: removes an activation, a normalisation, a dropout, a pool, a skip connection, or a layer that keeps the
/// shape.
MutatorPlugin remove_plugin();
/// Mutator: adds a skip connection, which is the sum of a value and an earlier value after shape repair.
MutatorPlugin add_skip_plugin();
/// Mutator: changes operators or attributes as its options specify.
MutatorPlugin operator_plugin();
/// Mutator: connects an input of a node to another earlier value, or adds one, as its options specify.
MutatorPlugin input_plugin();
/// Mutator: inserts layers as its options specify.
MutatorPlugin insert_plugin();
/// Mutator: replaces chains of layers as its options specify.
MutatorPlugin replace_plugin();
/// Mutator: duplicates chains of layers as its options specify.
MutatorPlugin duplicate_plugin();

}  // namespace lanista::mutate
