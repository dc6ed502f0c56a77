#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/graph.h"
#include "support/exec/program/test_models.h"

namespace lanista::oracle {

/// One comparison: a model, its loss, and the seed from which everything else is drawn.
struct Case {
  std::string origin;  ///< "random 17", "published darts 3", "mutated 5"
  std::uint64_t seed = 0;
  graph::Graph model;
  std::string loss = "mse";  ///< of step::losses()
};

/// The case of a random model; half of them classify.
Case random_case(std::uint64_t number);
/// `each` models of every published space, or of the one called `only`; fewer where a space has fewer distinct ones or
/// many samples are no models.
std::vector<Case> published_cases(std::uint64_t each, std::uint64_t first, std::string_view only = {});
/// Mutated models of all bases, each some one to twelve mutations away from its base.
std::vector<Case> mutated_cases(std::uint64_t count, std::uint64_t first);

/// What is drawn for a case beside the model: hyper-parameters, batches, initial values.
struct CaseInputs {
  std::int64_t max_batch = 1;
  std::int64_t shards = 1, accumulate = 1;  ///< parts that the program takes a batch in; the oracle takes it whole
  kernels::Isa isa = kernels::Isa::kPortable;
  std::vector<nn::testing::OwnedBatch> batches;     ///< of three steps, then one that is predicted
  std::vector<std::array<nn::LaneHyper, 3>> hyper;  ///< by optimiser and step: the rate changes from step to step
  std::uint64_t trial_seed = 0;
  bool lane_attr_values = false;  ///< whether the lane sets the attributes for itself that it may set
};
CaseInputs inputs_of(const Case& c, const nn::testing::Derived& derived);

/// The number that the lane sets for an attribute: equal wherever the attribute stands in the program.
double number_of(const Case& c, const nn::LaneAttr& number);

/// The state of a fresh lane with other values: nothing stands exactly at zero or one, where derivatives jump.
std::vector<Tensor> perturbed_state(const Case& c, std::vector<Tensor> state);

}  // namespace lanista::oracle
