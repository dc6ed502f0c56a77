// Updates of all optimisers, over ranges of neighbouring parameters.
#include <array>

#include "lanista/base/check.h"
#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {
namespace {

constexpr std::size_t kMostSlots = 4;

// Neighbouring parameters with their gradients and slots.
struct Stretch {
  std::int64_t count = 0;
  Address param, grad;
  std::array<Address, kMostSlots> slots{};
};

// Slots and gradients have the layout of the parameters, so neighbouring ranges are joined in all of them.
template <class T>
std::vector<Stretch> stretches(const Binding<T>& b, std::size_t slots) {
  const std::size_t n = b.in.size() / (2 + slots);
  std::vector<Stretch> all;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t count = b.x_shape(i).elements_per_sample();
    if (!all.empty() && all.back().param.offset + bytes_of<T>(all.back().count) == b.in[i].offset) {
      all.back().count += count;
      continue;
    }
    Stretch next{.count = count, .param = b.in[i], .grad = b.in[n + i], .slots = {}};
    for (std::size_t k = 0; k < slots; ++k) next.slots[k] = b.in[(2 + k) * n + i];
    all.push_back(next);
  }
  return all;
}

kernels::UpdateHyper hyper_of(const LaneHyper& lane, double grad_scale, std::uint64_t steps_done) {
  return {.lr = lane.lr,
          .momentum = lane.momentum,
          .weight_decay = lane.weight_decay,
          .beta1 = lane.beta1,
          .beta2 = lane.beta2,
          .eps = lane.eps,
          .grad_scale = grad_scale,
          .nesterov = lane.nesterov,
          .step = static_cast<std::int64_t>(steps_done) + 1};
}

template <class T>
Run<T> update(const Binding<T>& b, const kernels::UpdateKernel<T>& kernel) {
  return [f = kernel.run, all = stretches(b, kernel.slots), kernel_slots = kernel.slots](const RunContext<T>& run) {
    const kernels::UpdateHyper hyper = hyper_of(*run.hyper, run.grad_scale, run.step);
    for (const Stretch& each : all) {
      const std::int64_t first = each.param.offset / bytes_of<T>(1);
      // Updates work element by element, so a divided range has the same bits.
      for_each_lr_range(run.hyper->lr_ranges, first, each.count,
                        [&](std::int64_t begin, std::int64_t count, double factor) {
                          kernels::UpdateHyper own = hyper;
                          own.lr *= factor;
                          const std::int64_t at = begin - first;
                          std::array<T*, kMostSlots> slots{};
                          for (std::size_t k = 0; k < kernel_slots; ++k) slots[k] = run.at(each.slots[k]) + at;
                          f(count, own, run.at(each.grad) + at, run.at(each.param) + at, slots.data());
                        });
    }
  };
}

}  // namespace

template <class T>
void add_update_kernels(KernelTable<T>& table) {
  for (const auto& row : kernels::kernels<T>(kernels::Isa::kPortable).updates) {
    LANISTA_CHECK(row.slots <= kMostSlots, std::string(row.optimizer) + " has too many slots");
    const std::string name(row.optimizer);
    table[name + "_update"] = [name](const Binding<T>& b) { return update(b, *b.k.update(name)); };
  }
}

template void add_update_kernels(KernelTable<float>&);
template void add_update_kernels(KernelTable<double>&);

}  // namespace lanista::program
