#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `merged`: the most that merged operators of different models can gain, for 1 to 64 models on one thread.
///
/// The value is microseconds a model-step. The cases `heads-F` are linear heads of 10 classes on the F outputs of one
/// frozen trunk, in these arms:
/// - lanes: the heads are lanes of one program
/// - merged: one program with a single product, which has the outputs of all heads. Its loss is one softmax over all
///   outputs, so it does less work than heads with a softmax each.
///
/// The other cases are those of train_step(). Equal operators of unequal models have weights of their own, so to merge
/// them means to run them as lanes. The gain is at most that of models in which all operators are equal:
/// - programs: a program a model, eight steps of each in turn
/// - lanes: the models as lanes of one program
///
/// Row "other/merged" or "programs/lanes" is the gain, with the low end of its 95 % interval. Errors: kNotFound for an
/// unknown case.
Result<void> merged(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
