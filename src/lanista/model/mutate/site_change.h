#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

/// One way to change a model at a site. To make a model takes time that grows with the model, so it is made only where
/// nothing else tells whether it can be.
struct SiteChange {
  std::function<Result<graph::Edited>()> make;
  /// Types tell that it can be made: every value that others read has the type that it had, or one that they take.
  bool is_type_safe = false;
};

/// Whether one of them can be made; else `why` says what is wrong with the last one. An error stands for a change that
/// cannot be meant.
bool any_can_apply(std::span<const Result<SiteChange>> changes, std::string& why);
/// All that can.
std::vector<SiteChange> applicable_changes(std::vector<Result<SiteChange>> changes);

/// Whether layers behind a value of type `from` end in one of type `to`, in a model where only first outputs are read.
bool leads_to(const ModelView& view, graph::ValueType from, std::span<const Replacement> layers, const graph::ValueType& to);

}  // namespace lanista::mutate
