#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cases.h"
#include "lanista/exec/program/backend.h"

namespace lanista::oracle {

/// A difference between a program and the oracle.
struct Difference {
  std::string what;  ///< name of the value, such as "adam n3.weight", or "exception"
  std::string text;  ///< batches, error, allowed error and first differing element, or the message of the exception
};

/// Counts of comparisons.
struct ComparisonCounts {
  std::int64_t models = 0, values = 0;  ///< compared models and values
  std::int64_t ill_conditioned = 0;     ///< models in which rounding of the oracle changes a value by more than 1e-10
  std::int64_t not_finite = 0;          ///< models with NaN or infinity in program and oracle
  double worst = 0;                     ///< largest scaled error of values that are not ill-conditioned
};

/// Compares a program with the LibTorch oracle in float64. Returns the first difference, or nullopt.
///
/// The program runs on CPU kernels, or on `device` with undivided batches. Compared are the loss, each gradient, three
/// steps of each optimiser with its state and running statistics, and predictions before and after.
///
/// A value may differ by 1e-10 of the largest element of its tensor. If it differs more, the oracle runs again with
/// random relative errors of up to 1e-15 in the value of each node. A difference of up to 100 times their effect is
/// allowed, and the model counts as ill-conditioned.
///
/// Lion uses the sign of a sum. If the sum is only rounding, because it is zero in exact arithmetic, the oracle runs
/// once more with the sign of the program.
///
/// A NaN or infinite loss must occur in both. After it, elements that are not finite in the oracle are not compared,
/// and neither are overflows above 1e300.
std::optional<Difference> compare(const Case& c, ComparisonCounts& counts, const program::Backend* device = nullptr);

}  // namespace lanista::oracle
