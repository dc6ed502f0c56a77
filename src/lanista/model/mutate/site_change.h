#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// One possible change of a model at a site.
struct SiteChange {
  /// Makes the changed model, in time that grows with the model.
  std::function<Result<graph::Edited>()> make;
  /// The types alone show that `make` succeeds, because no user of a value gets a type that it does not accept.
  bool is_type_safe = false;
};

/// Whether at least one change can be made. Otherwise `why` gets the reason of the last one. An error in the list is a
/// change that is known to be impossible.
bool any_can_apply(std::span<const Result<SiteChange>> changes, std::string& why);
/// Returns the changes that can be made.
std::vector<SiteChange> applicable_changes(std::vector<Result<SiteChange>> changes);

/// Whether `layers` turn a value of type `from` into one of type `to`. False for a model with nodes that read other
/// outputs than output 0.
bool leads_to(const ModelView& view, graph::ValueType from, std::span<const Replacement> layers,
              const graph::ValueType& to);

}  // namespace lanista::mutate
