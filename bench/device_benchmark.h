#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "bench/bench.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/backend.h"

namespace lanista::bench {

/// Gives the backend of a device's name, as device::open does.
using OpenDevice = std::function<Result<const nn::Backend*>(const std::string& name)>;

/// Benchmark `gpu`. Microseconds a model-step of training cases with request.lanes models at once (1, 16, 64, 256),
/// each with its own weights and rate, on one batch that all share. Arms:
/// - own: own kernels on all cores of the host, a worker a core, the models as its lanes (LaneTimeSlices)
/// - one of each of request.devices' names (torch:cuda:0): the models as lanes of one program, in chunks of 50 steps
/// - limit: the larger of arithmetic at request.peak_tflops and of 20 bytes a parameter at request.bandwidth_gbs
/// - case cells-64 (request.lanes do not matter; cells-N: fewer): models that are all different (cells.h), own kernels
/// a
///   model a thread at a time, blocks in one launch, other devices a program each, fed by eight threads
/// Beside them own/DEVICE and its -low (standing()); DEVICE-step ("us": what a step of all lanes takes more where a
/// chunk is longer, so without its beginning and end), DEVICE-distance ("ppm": the largest relative distance of a loss
/// from own kernels', all models, 20 steps), DEVICE-bytes, DEVICE-plan ("ms" to compile). All start from the same
/// weights; over the first 20 steps a device of own kernels' numeric class must agree to the bit, others to 1e-4
/// (relative; one model in ten to 1e-3: kinks magnify a rounding).
///
/// A device or a program that is not to be had gives a row with status "skipped" and the reason; one that throws or
/// disagrees a row "failed", and the benchmark goes on and fails at its end (kInternal). With request.write: no race
/// but case_files.h. Errors besides: kNotFound for a case.
Result<void> benchmark_devices(const BenchRequest& request, const OpenDevice& open, std::ostream& out);
/// The same with device::open.
Result<void> gpu(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
