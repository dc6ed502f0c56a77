// Losses and their gradients.
#include "lanista/nn/kernel_table.h"

namespace lanista::nn {
namespace {

template <class T>
Run<T> cross_entropy(const Binding<T>& b) {
  return [f = b.k.cross_entropy, classes = b.x_shape(0).dims.back(), logits = b.in[0], target = b.in[1],
          loss = b.out[0], probability = b.out[1]](const RunContext<T>& run) {
    f(run.batch, classes, run.hyper->label_smoothing, run.at(logits), run.template at<std::int32_t>(target),
      run.at(loss), run.at(probability));
  };
}

template <class T>
Run<T> cross_entropy_grad(const Binding<T>& b) {
  return [f = b.k.cross_entropy_grad, classes = b.x_shape(0).dims.back(), probability = b.in[0], target = b.in[1],
          dlogits = b.out[0]](const RunContext<T>& run) {
    f(run.batch, classes, run.hyper->label_smoothing, run.at(probability), run.template at<std::int32_t>(target),
      run.at(dlogits));
  };
}

template <class T, auto kernel>
Run<T> mse(const Binding<T>& b) {
  return [f = b.k.*kernel, len = b.x_shape(0).elements_per_sample(), prediction = b.in[0], target = b.in[1],
          y = b.out[0]](const RunContext<T>& run) { f(run.batch, len, run.at(prediction), run.at(target), run.at(y)); };
}

}  // namespace

template <class T>
void add_loss_kernels(KernelTable<T>& table) {
  using K = kernels::Kernels<T>;
  table["cross_entropy"] = cross_entropy<T>;
  table["cross_entropy_grad"] = cross_entropy_grad<T>;
  table["mse"] = mse<T, &K::mse>;
  table["mse_grad"] = mse<T, &K::mse_grad>;
}

template void add_loss_kernels(KernelTable<float>&);
template void add_loss_kernels(KernelTable<double>&);

}  // namespace lanista::nn
