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

/// One comparison: a model, its loss, and the seed of all its random inputs.
struct Case {
  std::string origin;        ///< "random 17", "published darts 3", "mutated 5"
  std::uint64_t seed = 0;    ///< seed of CaseInputs and of the state
  graph::Graph model;        ///< the model
  std::string loss = "mse";  ///< name in autodiff::losses()
};

/// Returns the case of random model `number`. Models with even numbers have classes.
Case random_case(std::uint64_t number);

/// Returns up to `each` different models of each published space, or only of the space with the name `only`.
///
/// There are fewer if a space has fewer models or many samples are invalid. `first` is the number of the first sample.
std::vector<Case> published_cases(std::uint64_t each, std::uint64_t first, std::string_view only = {});

/// Returns at most `count` models of all bases after 1 to 12 mutations, from number `first`.
std::vector<Case> mutated_cases(std::uint64_t count, std::uint64_t first);

/// The random inputs of a case: hyper-parameters, batches and seed.
struct CaseInputs {
  std::int64_t max_batch = 1;
  std::int64_t shards = 1, accumulate = 1;  ///< parts of a batch in the program; the oracle does not divide it
  kernels::Isa isa = kernels::Isa::kPortable;
  std::vector<program::testing::OwnedBatch> batches;  ///< batches of three steps, then one for prediction
  std::vector<std::array<program::LaneHyper, 3>>
      hyper;  ///< by optimiser and step; the learning rate changes in each step
  std::uint64_t trial_seed = 0;
  bool lane_attr_values = false;  ///< true: the lane sets its own values of attributes
};

/// Returns the random inputs of a case.
CaseInputs inputs_of(const Case& c, const program::testing::Derived& derived);

/// Returns the value that the lane sets for an attribute, in [0, 0.9). It depends on node and attribute only.
double number_of(const Case& c, const program::LaneAttr& number);

/// Returns the initial state with random changes, so that no value is exactly zero or one, where derivatives jump.
std::vector<Tensor> perturbed_state(const Case& c, std::vector<Tensor> state);

}  // namespace lanista::oracle
