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
/// An object maps names of parameters to values. Other parameters and the base model are sampled, up to kMaxAttempts
/// times until the values fit. Models are not mutated. The same context and list give the same proposals.
///
/// Errors: kInvalidArgument at "[2].lr" for index 2 of the list. Then no parameter has this name, it is not active with
/// the other values, or its domain does not have the value. The location is "[2]" if the values make no model, or a
/// model that breaks a constraint.
Result<std::vector<study::Proposal>> enqueued(const Context& context, const nlohmann::json& list);

/// Returns the proposal of the first base model, without mutations, with exactly the values of `given`. It is for
/// results from outside of the study. An active parameter with a single possible value may be left out.
///
/// Errors: kInvalidArgument at ".lr" if the parameter is unknown, not active or has another domain, or if another
/// active parameter is not given. kInvalidArgument without a location if the values make no model or break a
/// constraint.
Result<study::Proposal> exact_proposal(const Context& context, const nlohmann::json& given);

/// Returns a sampler that proposes `first` and then what `inner` proposes.
///
/// `inner` observes these trials as if they were its own. It counts the proposals of the study. So after a resume, when
/// it observes them again, it continues where it was. No group has members of both.
std::unique_ptr<Sampler> with_enqueued_first(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first);

}  // namespace lanista::search
