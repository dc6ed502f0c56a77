#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "bench/bench.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/backend.h"

namespace lanista::bench {

/// Returns the backend of a device, as device::open does.
using OpenDevice = std::function<Result<const program::Backend*>(const std::string& name)>;

/// Benchmark `gpu`: training steps on devices against lanista kernels on the CPU.
///
/// A case trains request.lanes models at once (1, 16, 64, 256), each with its own weights and rate, on one shared
/// batch. The value is microseconds a model-step. The case cells-64 (or cells-N) has 64 different models (cells.h) and
/// ignores request.lanes. The arms are:
/// - own: lanista kernels on all cores, one worker a core with the models as its lanes (LaneTimeSlices)
/// - a device of request.devices (torch:cuda:0): the models as lanes of one program, in chunks of 50 steps
/// - limit: the larger of the arithmetic at request.peak_tflops and 20 bytes a parameter at request.bandwidth_gbs
///
/// Further rows for each device:
/// - own/DEVICE and own/DEVICE-low: compare_to_best()
/// - DEVICE-step ("us"): a step of all lanes without the begin and end of its chunk
/// - DEVICE-distance ("ppm"): largest relative distance of a loss from that of the lanista kernels, over 20 steps
/// - DEVICE-bytes, DEVICE-plan ("ms"): memory, and time to compile
///
/// All arms start from the same weights. Over 20 steps, a device of the CPU's numeric class must agree to the bit.
/// Others must agree to 1e-4 (relative). One model in ten may differ by 1e-3, since kinks of a loss amplify roundings.
///
/// A missing device or a program that does not compile gives a row with status "skipped" and the reason. A device that
/// throws or disagrees gives a row "failed"; the benchmark then continues and returns kInternal at its end. With
/// request.write it times nothing and calls write_case_files(). Errors: also kNotFound for an unknown case.
Result<void> benchmark_devices(const BenchRequest& request, const OpenDevice& open, std::ostream& out);

/// Runs benchmark_devices() with the devices of device::open.
Result<void> gpu(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
