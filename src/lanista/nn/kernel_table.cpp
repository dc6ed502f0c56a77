#include "lanista/nn/kernel_table.h"

namespace lanista::nn {

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
  return table;
}

template KernelTable<float> kernel_table();
template KernelTable<double> kernel_table();

}  // namespace lanista::nn
