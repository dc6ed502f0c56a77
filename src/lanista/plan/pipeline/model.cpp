#include "lanista/plan/pipeline/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <queue>

namespace lanista::pipeline {
namespace {

bool from_zero(double value) { return std::isfinite(value) && value >= 0; }

Error model_error(std::string message) { return {Code::kInvalidArgument, std::move(message), ""}; }

Result<void> check_operator(const Operator& op, std::size_t rank) {
  const std::string name = "operator " + std::to_string(rank) + " (" + op.name + ")";
  if (op.forward.empty() || op.forward.size() > 64 || op.input_grad.size() != op.forward.size() ||
      op.weight_grad.size() != op.forward.size()) {
    return model_error(name + ": times of " + std::to_string(op.forward.size()) + ", " +
                       std::to_string(op.input_grad.size()) + " and " + std::to_string(op.weight_grad.size()) +
                       " batch sizes; allowed are 1 to 64, equally many of forward, input_grad and weight_grad");
  }
  for (const Curve* curve : {&op.forward, &op.input_grad, &op.weight_grad}) {
    if (!std::ranges::all_of(*curve, from_zero)) return model_error(name + ": a time is not a number of at least 0");
  }
  if (!from_zero(op.activation_bytes) || !from_zero(op.output_bytes) || !from_zero(op.parameter_bytes)) {
    return model_error(name + ": bytes are not a number of at least 0");
  }
  if (!(op.warm_cache_factor > 0 && op.warm_cache_factor <= 1)) {
    return model_error(name + ": again is " + std::to_string(op.warm_cache_factor) +
                       "; allowed is a share above 0, at most 1");
  }
  return {};
}

bool usable(const Link& link) {
  return from_zero(link.seconds) && std::isfinite(link.bytes_per_second) && link.bytes_per_second > 0;
}

}  // namespace

double seconds_at(const Curve& curve, std::int64_t samples) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(samples, 1));
  const auto below = static_cast<std::size_t>(std::bit_width(n) - 1);
  if (below + 1 >= curve.size()) {
    return curve.back() * static_cast<double>(n) / static_cast<double>(std::uint64_t{1} << (curve.size() - 1));
  }
  const double part = static_cast<double>(n) / static_cast<double>(std::uint64_t{1} << below) - 1;
  return curve[below] + part * (curve[below + 1] - curve[below]);
}

double work_at(const Operator& op, std::int64_t samples) {
  return seconds_at(op.forward, samples) + seconds_at(op.input_grad, samples) + seconds_at(op.weight_grad, samples);
}

std::int64_t Devices::count() const {
  std::int64_t sum = 0;
  for (const DeviceClass& each : classes) sum += each.count;
  return sum;
}

double Devices::speed() const {
  double sum = 0;
  for (const DeviceClass& each : classes) sum += each.speed * static_cast<double>(each.count);
  return sum;
}

std::size_t Devices::class_of(std::int64_t device) const {
  std::size_t c = 0;
  while (c + 1 < classes.size() && device >= classes[c].count) device -= classes[c++].count;
  return c;
}

Link Devices::link(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) const {
  const auto machine = [this](std::int64_t device) {
    std::size_t c = 0;
    while (c + 1 < classes.size() && device >= classes[c].count) device -= classes[c++].count;
    return std::pair{c, device / classes[c].per_machine};
  };
  Link slowest{0, 1e300};
  for (const std::int64_t a : from) {
    for (const std::int64_t b : to) {
      const auto x = machine(a), y = machine(b);
      const Link& link = x == y ? classes[x.first].inside : links[x.first][y.first];
      slowest.seconds = std::max(slowest.seconds, link.seconds);
      slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
    }
  }
  return slowest;
}

Devices equal_devices(std::int64_t count, double memory_bytes, Link link) {
  return {{{"device", count, 1, memory_bytes, 1, link}}, {{link}}, ""};
}

Result<void> check(const Model& model) {
  if (model.operators.empty() || model.operators.size() > kMaxOperators) {
    return model_error("a model of " + std::to_string(model.operators.size()) + " operators; allowed are 1 to " +
                       std::to_string(kMaxOperators));
  }
  if (model.batch < 1 || model.batch > (std::int64_t{1} << 40)) {
    return model_error("a batch of " + std::to_string(model.batch) + "; allowed is a whole number from 1 to 2^40");
  }
  if (!from_zero(model.parameter_copies)) return model_error("parameter_copies is not a number of at least 0");
  for (std::size_t i = 0; i < model.operators.size(); ++i) LANISTA_TRY(check_operator(model.operators[i], i));
  for (std::size_t i = 0; i < model.edges.size(); ++i) {
    const auto& [from, to] = model.edges[i];
    const std::string name =
        "edge " + std::to_string(i) + " from " + std::to_string(from) + " to " + std::to_string(to);
    if (from >= model.operators.size() || to >= model.operators.size() || from == to) {
      return model_error(name + ": allowed are two different operators of 0 to " +
                         std::to_string(model.operators.size() - 1));
    }
    if (i > 0 && !(model.edges[i - 1] < model.edges[i])) return model_error(name + " is listed twice or out of order");
  }
  if (dependency_order(Neighbours(model)).size() != model.operators.size()) {
    return model_error("the model cannot be cut into stages: its operators form a cycle");
  }
  return {};
}

Result<void> check(const Devices& devices) {
  const std::size_t count = devices.classes.size();
  if (count < 1 || count > kMaxDeviceClasses) {
    return model_error(std::to_string(count) + " classes of devices; allowed are 1 to " +
                       std::to_string(kMaxDeviceClasses));
  }
  for (const DeviceClass& each : devices.classes) {
    if (each.count < 1 || each.count > kMaxDevices || each.per_machine < 1) {
      return model_error("class " + each.name + ": count " + std::to_string(each.count) + ", per_machine " +
                         std::to_string(each.per_machine) + "; allowed are whole numbers from 1 to " +
                         std::to_string(kMaxDevices));
    }
    if (!(each.memory_bytes > 0) || !std::isfinite(each.speed) || !(each.speed > 0) || !usable(each.inside)) {
      return model_error("class " + each.name + ": memory, speed and the rate of its link must be greater than zero");
    }
  }
  if (devices.count() > kMaxDevices) return model_error("more than " + std::to_string(kMaxDevices) + " devices");
  if (devices.links.size() != count)
    return model_error("links of " + std::to_string(devices.links.size()) + " classes");
  for (std::size_t a = 0; a < count; ++a) {
    if (devices.links[a].size() != count)
      return model_error("links of class " + devices.classes[a].name + " are missing");
    for (std::size_t b = 0; b < count; ++b) {
      if (!usable(devices.links[a][b]) || !(devices.links[a][b] == devices.links[b][a])) {
        return model_error("no link between " + devices.classes[a].name + " and " + devices.classes[b].name);
      }
    }
  }
  return {};
}

Result<void> check(const Problem& problem) {
  LANISTA_TRY(check(problem.model));
  return check(problem.devices);
}

Neighbours::Neighbours(const Model& model) : next(model.operators.size()), previous(model.operators.size()) {
  for (const auto& [from, to] : model.edges) {
    next[from].push_back(to);
    previous[to].push_back(from);
  }
}

std::vector<std::uint32_t> dependency_order(const Neighbours& neighbours) {
  std::vector<std::size_t> waits;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t v = 0; v < neighbours.previous.size(); ++v) {
    waits.push_back(neighbours.previous[v].size());
    if (waits.back() == 0) ready.push(v);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t v = ready.top();
    ready.pop();
    order.push_back(v);
    for (const std::uint32_t w : neighbours.next[v]) {
      if (--waits[w] == 0) ready.push(w);
    }
  }
  return order;
}

Digest hash_of(const Model& model) {
  Hasher hasher;
  hasher.text("pipeline model").number(static_cast<std::int64_t>(model.operators.size()));
  for (const Operator& op : model.operators) {
    hasher.text(op.name).real(op.output_bytes).real(op.parameter_bytes).real(op.activation_bytes);
  }
  for (const auto& [from, to] : model.edges) hasher.number(from).number(to);
  return hasher.finish();
}

}  // namespace lanista::pipeline
