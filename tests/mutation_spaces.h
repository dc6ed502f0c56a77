#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/model_space.h"

// Base models and model spaces for tests over mutated models.
namespace lanista::testing {

/// Returns small networks of well-known kinds: residual, dense, inception, squeeze, token mixer.
std::vector<mutate::BaseModel> small_networks();

/// Returns each builtin base for vectors and for images, or for token numbers below `tokens` if it needs tokens.
Result<std::vector<mutate::BaseModel>> shipped_bases(std::int64_t tokens);

/// Returns model spaces with all mutators over the bases, one for each policy of shape repair.
Result<std::vector<mutate::ModelSpace>> mutation_spaces(std::vector<mutate::BaseModel> bases,
                                                        const mutate::Limits& limits);

}  // namespace lanista::testing
