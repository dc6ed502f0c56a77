#include "lanista/plan/goodput/packing.h"

#include <algorithm>
#include <bit>

#include "lanista/base/check.h"

namespace lanista::goodput {

bool is_packable(std::int32_t devices, const Nodes& nodes) {
  if (devices > nodes.devices) return devices % nodes.devices == 0;
  return devices >= 0 && (devices == 0 || std::has_single_bit(static_cast<std::uint32_t>(devices)));
}

namespace {

/// Places jobs on nodes. Jobs keep their devices as long as all others fit.
class Packer {
 public:
  Packer(std::span<const std::int32_t> counts, std::span<const Allocation> current, const Nodes& nodes)
      : counts_(counts), current_(current), nodes_(nodes), keeps_devices_(counts.size()) {
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const auto fewest = static_cast<std::size_t>((counts[j] + nodes.devices - 1) / nodes.devices);
      keeps_devices_[j] = counts[j] > 0 && devices_of(current[j]) == counts[j] && current[j].size() == fewest;
    }
  }

  std::vector<Allocation> run() {
    while (true) {
      if (place()) return placed_;
      free_a_node();
    }
  }

 private:
  bool place() {
    placed_.assign(counts_.size(), {});
    free_.assign(static_cast<std::size_t>(nodes_.count), nodes_.devices);
    std::vector<std::size_t> order;
    for (std::size_t j = 0; j < counts_.size(); ++j) {
      if (keeps_devices_[j]) {
        placed_[j] = current_[j];
        for (const NodeShare& share : current_[j]) free_[static_cast<std::size_t>(share.node)] -= share.devices;
      } else if (counts_[j] > 0) {
        order.push_back(j);
      }
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t j) { return counts_[j]; });
    return std::ranges::all_of(order, [&](std::size_t j) { return put(j); });
  }

  bool put(std::size_t j) {
    std::int32_t left = counts_[j];
    while (left > 0) {
      const std::int32_t part = std::min(left, nodes_.devices);
      // The fullest node that fits is used, so that empty nodes stay free for jobs of whole nodes.
      auto best = free_.end();
      for (auto node = free_.begin(); node != free_.end(); ++node) {
        if (*node >= part && (best == free_.end() || *node < *best)) best = node;
      }
      if (best == free_.end()) return false;
      *best -= part;
      placed_[j].push_back({static_cast<std::int32_t>(best - free_.begin()), part});
      left -= part;
    }
    return true;
  }

  /// Lets the jobs move that keep devices on the node with the fewest kept devices.
  void free_a_node() {
    std::vector<std::int32_t> held(static_cast<std::size_t>(nodes_.count), 0);
    for (std::size_t j = 0; j < counts_.size(); ++j) {
      if (!keeps_devices_[j]) continue;
      for (const NodeShare& share : current_[j]) held[static_cast<std::size_t>(share.node)] += share.devices;
    }
    std::size_t least = held.size();
    for (std::size_t n = 0; n < held.size(); ++n) {
      if (held[n] > 0 && (least == held.size() || held[n] < held[least])) least = n;
    }
    LANISTA_CHECK(least < held.size(), "packable counts fit on empty nodes");
    for (std::size_t j = 0; j < counts_.size(); ++j) {
      const auto here = [&](const NodeShare& share) { return share.node == static_cast<std::int32_t>(least); };
      if (keeps_devices_[j] && std::ranges::any_of(current_[j], here)) keeps_devices_[j] = false;
    }
  }

  std::span<const std::int32_t> counts_;
  std::span<const Allocation> current_;
  Nodes nodes_;
  std::vector<bool> keeps_devices_;
  std::vector<Allocation> placed_;
  std::vector<std::int32_t> free_;
};

}  // namespace

std::vector<Allocation> pack(std::span<const std::int32_t> counts, std::span<const Allocation> current,
                             const Nodes& nodes) {
  return Packer(counts, current, nodes).run();
}

}  // namespace lanista::goodput
