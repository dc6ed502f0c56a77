#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// One possible change of a model at a site (a node, or nodes that change together).
struct SiteChange {
  /// Returns the changed model with its edits. The time grows with the size of the model. It refers to the view and the
  /// policy from which it was made. Errors: kNotApplicable with the reason.
  std::function<Result<graph::Edited>()> make;
  /// True: `make` is known to succeed from the types alone, because no node that reads a value gets a type that it
  /// refuses.
  bool is_type_safe = false;
};

/// True if at least one change can be made. It calls `make` unless a change is type-safe. `why` is set to the reason of
/// the last change that failed, and stays as it is if none failed. An error in the list is a change that is known to be
/// impossible.
bool any_can_apply(std::span<const Result<SiteChange>> changes, std::string& why);
/// Returns the changes that can be made, in the order of the list. It calls `make` unless the change is type-safe.
std::vector<SiteChange> applicable_changes(std::vector<Result<SiteChange>> changes);

/// True if `layers`, applied in order, turn a value of type `from` into one of type `to`. Always false for a model in
/// which a node reads another output than output 0.
bool leads_to(const ModelView& view, graph::ValueType from, std::span<const Replacement> layers,
              const graph::ValueType& to);

}  // namespace lanista::mutate
