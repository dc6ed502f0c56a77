#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {

template <class T>
KernelTable<T> kernel_table() {
  KernelTable<T> table;
  add_dense_kernels(table);
  add_elementwise_kernels(table);
  add_norm_kernels(table);
  add_pool_kernels(table);
  add_shape_kernels(table);
  add_sequence_kernels(table);
  add_image_kernels(table);
  add_loss_kernels(table);
  add_update_kernels(table);
  return table;
}

template <class T>
std::vector<Fusion> fusions_of(const KernelTable<T>& table) {
  std::vector<Fusion> fusions;
  for (const auto& [name, entry] : table) {
    if (!entry.fusion) continue;
    fusions.push_back(*entry.fusion);
    fusions.back().kernel = name;
  }
  return fusions;
}

template <class T>
Layout required_layout(const KernelTable<T>& table, const KernelCall& call, std::size_t input) {
  const auto entry = table.find(call.kernel);
  if (entry == table.end()) return Layout::kPlain;
  for (const ParameterLayout& wish : entry->second.layouts) {
    if (wish.input != input) continue;
    if (!wish.requires_image_input || value_layout(call.in_types[0].shape) == Layout::kImage) return wish.layout;
  }
  return Layout::kPlain;
}

template KernelTable<float> kernel_table();
template KernelTable<double> kernel_table();
template std::vector<Fusion> fusions_of(const KernelTable<float>&);
template std::vector<Fusion> fusions_of(const KernelTable<double>&);
template Layout required_layout(const KernelTable<float>&, const KernelCall&, std::size_t);
template Layout required_layout(const KernelTable<double>&, const KernelCall&, std::size_t);

}  // namespace lanista::program
