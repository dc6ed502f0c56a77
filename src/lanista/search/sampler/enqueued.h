#pragma once

#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Name of the option for enqueued configurations.
inline constexpr const char* kEnqueue = "enqueue";
/// Returns the specification of the option `enqueue`, which every built-in strategy has: configurations that are tried
/// first.
OptionSpec enqueue_option();

/// Returns the proposals of a study's `strategy.enqueue`, one for each object of `list`.
///
/// An object maps names of parameters to values. Other parameters and the base model are sampled. Models are not
/// mutated. The same context and list give the same proposals.
/// Errors: kInvalidArgument at "[2].lr" if no parameter has this name, or if it is not active with the other values, or
/// if it does not have this value.
///
/// Errors: kInvalidArgument at "[2]" if the values make no model, or a model that breaks a constraint.
Result<std::vector<study::Proposal>> enqueued(const Context& context, const nlohmann::json& list);

/// Returns the proposal that has exactly the values of `given`, for results from outside of the study.
///
/// Errors: kInvalidArgument as of `enqueued`, at ".lr" or without a place. Also if an active parameter has more than
/// one possible value and is not given.
Result<study::Proposal> exact_proposal(const Context& context, const nlohmann::json& given);

/// Returns a sampler that proposes `first` and then what `inner` proposes.
///
/// `inner` observes these trials as if they were its own. After a resume the sampler continues where it was.
std::unique_ptr<Sampler> with_enqueued_first(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first);

}  // namespace lanista::search
