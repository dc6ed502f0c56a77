#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"

namespace lanista::pipeline {

/// Seconds of one pass over 1, 2, 4, ... samples: entry i is for 2^i samples. Between two sizes the time is linear;
/// above the largest it is proportional.
using Curve = std::vector<double>;
/// Returns the seconds of a pass over `samples` samples. Fewer than one count as one.
double seconds_at(const Curve& curve, std::int64_t samples);

/// An operator, as a planner sees it. Times are those of a device of speed 1.
struct Operator {
  std::string name;             ///< Name of the operator, for people.
  Curve forward;                ///< Seconds of the forward pass.
  Curve input_grad;             ///< Seconds of the backward pass for gradients of inputs; as many sizes as `forward`.
  Curve weight_grad;            ///< Seconds of the backward pass for gradients of weights; as many sizes as `forward`.
  double activation_bytes = 0;  ///< Bytes a sample that are kept until the backward pass, with its output.
  double output_bytes = 0;      ///< Bytes a sample that are sent to a consumer in another stage.
  double parameter_bytes = 0;   ///< Bytes of its parameters.
  /// Part of a pass's time that it needs right after the same pass over another micro-batch, since its inputs are in
  /// the cache. Other work on the rank in between reduces the effect (StepState::seconds). From above 0 to 1.
  double warm_cache_factor = 1;
  bool operator==(const Operator&) const = default;
};

/// A model with its costs.
struct Model {
  std::string name;                                            ///< Name of the model, for people.
  Digest hash;                                                 ///< Hash of its graph, which plans contain.
  std::vector<Operator> operators;                             ///< The operators, which are numbered from 0.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< Numbers of producer and consumer, ascending.
  std::int64_t batch = 1;                                      ///< Samples of a step.
  double parameter_copies = 4;  ///< Bytes for each parameter byte: weight, gradient and optimiser state.
  bool operator==(const Model&) const = default;
};

/// The cost of transfers between two devices.
struct Link {
  double seconds = 0;              ///< Latency: seconds that every transfer needs in addition.
  double bytes_per_second = 1e10;  ///< Bandwidth of the link.
  /// Returns the seconds of a transfer of this many bytes: seconds + bytes / bytes_per_second.
  double of(double bytes) const { return seconds + bytes / bytes_per_second; }
  bool operator==(const Link&) const = default;
};

/// Devices of equal speed and memory.
struct DeviceClass {
  std::string name = "device";   ///< Name of the class, for people.
  std::int64_t count = 1;        ///< Number of devices.
  std::int64_t per_machine = 1;  ///< Devices of one machine.
  double memory_bytes = 1e18;    ///< Memory of each device, in bytes.
  double speed = 1;              ///< Speed relative to the device of the operators' times; larger is faster.
  Link inside;                   ///< Link between two devices of one machine.
  bool operator==(const DeviceClass&) const = default;
};

inline constexpr std::size_t kMaxDeviceClasses = 4;      ///< Most device classes of a problem.
inline constexpr std::int64_t kMaxDevices = 4096;        ///< Most devices of a problem.
inline constexpr std::size_t kMaxOperators = 1'000'000;  ///< Most operators of a model.

/// All devices, in classes. Devices are numbered from 0, class by class.
struct Devices {
  std::vector<DeviceClass> classes;      ///< The classes.
  std::vector<std::vector<Link>> links;  ///< [class][class]: link between two machines; symmetric.
  std::string note;                      ///< Origin of the figures, for people.

  /// Returns the number of devices.
  std::int64_t count() const;
  /// Returns the sum of DeviceClass::speed over all devices.
  double speed() const;
  /// Returns the index in `classes` of the class of a device. A number above all devices gives the last class.
  std::size_t class_of(std::int64_t device) const;
  /// Returns the largest latency and the lowest bandwidth of all links between a device of `from` and one of `to`.
  Link link(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) const;
  bool operator==(const Devices&) const = default;
};

/// Returns `count` devices of one class with speed 1, each on a machine of its own, with the same link between any two.
Devices equal_devices(std::int64_t count, double memory_bytes, Link link);

/// A model and the devices for which it is planned.
struct Problem {
  Model model;      ///< The model.
  Devices devices;  ///< The devices.
};

/// Checks a problem: its model and its devices.
///
/// Errors: kInvalidArgument with the wrong operator, edge, class or link and what is allowed. Wrong are cycles, and
/// edges that are not ascending or name no operators. Wrong are times or bytes that are negative or not finite, and
/// curves with no or more than 64 sizes. So are no operators or more than kMaxOperators, more than kMaxDeviceClasses
/// classes or kMaxDevices devices, and links that are not symmetric.
Result<void> check(const Problem& problem);
/// Checks a model: operators, edges, their number, the batch, parameter_copies, and that there is no cycle. Errors:
/// kInvalidArgument with what is wrong, mostly with what is allowed.
Result<void> check(const Model& model);
/// Checks devices. Errors: kInvalidArgument with the wrong class or link, and what is allowed.
Result<void> check(const Devices& devices);

/// Consumers and producers of every operator.
struct Neighbours {
  /// Collects the edges of the model.
  explicit Neighbours(const Model& model);
  std::vector<std::vector<std::uint32_t>> next;      ///< Consumers of each operator, in ascending order.
  std::vector<std::vector<std::uint32_t>> previous;  ///< Producers of each operator, in ascending order.
};
/// Returns the operators in dependency order, the smallest number first among ready ones. It is shorter than the model
/// if there is a cycle.
std::vector<std::uint32_t> dependency_order(const Neighbours& neighbours);

/// Returns the seconds of forward and backward pass together over `samples` samples, at speed 1.
double work_at(const Operator& op, std::int64_t samples);
/// Returns a hash of names, bytes and edges of the operators, for models without a graph. Times do not count.
Digest hash_of(const Model& model);

}  // namespace lanista::pipeline
