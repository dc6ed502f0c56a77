#pragma once

#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

inline constexpr const char* kEnqueue = "enqueue";
/// The option that every built-in strategy has: configurations that are tried first.
OptionSpec enqueue_option();

/// The proposals of a study's `strategy.enqueue`: one for each object of values by the parameters' names. What an
/// object does not name is drawn, the base model, too; nothing is mutated, for it is the model that is asked for. The
/// same context and list give the same proposals. Errors: kInvalidArgument at "[2].lr" (nobody is called so, the
/// parameter does not exist beside the others or not with this value) or "[2]" (no model comes of it, or one that
/// breaks a constraint).
Result<std::vector<study::Proposal>> enqueued(const Context& context, const nlohmann::json& list);

/// The proposal that has these values and no others, for trials from elsewhere. Errors: kInvalidArgument as of
/// `enqueued`, at ".lr" or at nothing, and for what it needs and the object does not name.
Result<study::Proposal> exact_proposal(const Context& context, const nlohmann::json& given);

/// `inner` behind these proposals, which it hears of as if they were its own: they are ordinary trials of the study. A
/// fold: after a resume it goes on where it was.
std::unique_ptr<Sampler> with_enqueued_first(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first);

}  // namespace lanista::strategy
