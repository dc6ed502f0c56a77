#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"

namespace lanista::pipeline {

/// Seconds of a piece of work at 1, 2, 4, ... samples. Between two sizes it is linear, above the largest proportional.
using Curve = std::vector<double>;
/// Seconds of `samples` samples, one at least.
double seconds_at(const Curve& curve, std::int64_t samples);

/// An operator as a planner sees it. Bytes are per sample, but for parameters. Times are those of a device of speed 1.
struct Operator {
  std::string name;
  Curve forward, input_grad, weight_grad;  ///< the backward pass in its two parts; equally many sizes
  double activation_bytes = 0;             ///< kept from the forward pass until the backward pass, own output included
  double output_bytes = 0;                 ///< what a consumer elsewhere is sent
  double parameter_bytes = 0;
  /// Share of a pass's time that it takes right behind the same pass over another micro-batch: what it reads is near.
  /// What is done at its place in between takes of that (StepState::seconds).
  double warm_cache_factor = 1;
  bool operator==(const Operator&) const = default;
};

/// A model with its costs: operators and who reads whom (from, to), ascending.
struct Model {
  std::string name;
  Digest hash;  ///< of the graph it stands for; plans carry it
  std::vector<Operator> operators;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::int64_t batch = 1;       ///< samples of a step
  double parameter_copies = 4;  ///< bytes held per parameter byte: weight, gradient and the optimiser's slots
  bool operator==(const Model&) const = default;
};

/// What a transfer takes: seconds + bytes / bytes_per_second.
struct Link {
  double seconds = 0;
  double bytes_per_second = 1e10;
  double of(double bytes) const { return seconds + bytes / bytes_per_second; }
  bool operator==(const Link&) const = default;
};

/// Equal devices; so many of them share a machine.
struct DeviceClass {
  std::string name = "device";
  std::int64_t count = 1;
  std::int64_t per_machine = 1;
  double memory_bytes = 1e18;
  double speed = 1;
  Link inside;  ///< between two devices of one machine
  bool operator==(const DeviceClass&) const = default;
};

inline constexpr std::size_t kMaxDeviceClasses = 4;
inline constexpr std::int64_t kMaxDevices = 4096;
inline constexpr std::size_t kMaxOperators = 1'000'000;

/// Devices are numbered class by class.
struct Devices {
  std::vector<DeviceClass> classes;
  std::vector<std::vector<Link>> links;  ///< [class][class], between machines; symmetric
  std::string note;                      ///< whose figures these are

  std::int64_t count() const;
  double speed() const;  ///< of all together
  std::size_t class_of(std::int64_t device) const;
  /// The slowest link between a device of `from` and one of `to`.
  Link link(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) const;
  bool operator==(const Devices&) const = default;
};

/// `count` devices of one class, with one link between any two.
Devices equal_devices(std::int64_t count, double memory_bytes, Link link);

/// What is to be planned.
struct Problem {
  Model model;
  Devices devices;
};

/// Errors: kInvalidArgument naming the operator, edge, class or link that is wrong and what is allowed: a cycle, an
/// edge of an operator that is not there, times that are no numbers from zero on, more than 64 batch sizes, more than
/// kMaxDeviceClasses classes or kMaxDevices devices.
Result<void> check(const Problem& problem);
Result<void> check(const Model& model);
Result<void> check(const Devices& devices);

/// Successors and predecessors of every operator, ascending.
struct Neighbours {
  explicit Neighbours(const Model& model);
  std::vector<std::vector<std::uint32_t>> next, previous;
};
/// Dependency order, smallest number first among the ready; shorter than the model where there is a cycle.
std::vector<std::uint32_t> dependency_order(const Neighbours& neighbours);

/// Forward and backward together at `samples` samples.
double work_at(const Operator& op, std::int64_t samples);
/// A content hash of operators and edges, for models that have no graph of ours.
Digest hash_of(const Model& model);

}  // namespace lanista::pipeline
