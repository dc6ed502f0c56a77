#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/model_space.h"

// What the proofs over mutated models mutate.
namespace lanista::testing {

/// Small networks of the shapes that people import: residual, dense, inception, squeeze, token mixer.
std::vector<mutate::BaseModel> small_networks();
/// Every shipped base on vectors and images, on token numbers below `tokens` where it wants those.
Result<std::vector<mutate::BaseModel>> shipped_bases(std::int64_t tokens);
/// All mutators over the bases, once for each policy of repair.
Result<std::vector<mutate::ModelSpace>> mutation_spaces(std::vector<mutate::BaseModel> bases,
                                                        const mutate::Limits& limits);

}  // namespace lanista::testing
