// Losses and their gradients: whatever the kernel family holds.
#include "lanista/nn/kernel_table.h"

namespace lanista::nn {
namespace {

template <class T>
Run<T> of_classes(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  return [f = kernel.of_classes, classes = b.x_shape(0).dims.back(), logits = b.in[0], target = b.in[1],
          loss = b.out[0], saved = b.out[1]](const RunContext<T>& run) {
    f(run.batch, classes, run.hyper->label_smoothing, run.at(logits), run.template at<std::int32_t>(target),
      run.at(loss), run.at(saved));
  };
}

template <class T>
Run<T> grad_of_classes(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  return [f = kernel.grad_of_classes, classes = b.x_shape(0).dims.back(), saved = b.in[0], target = b.in[1],
          dlogits = b.out[0]](const RunContext<T>& run) {
    f(run.batch, run.total, classes, run.hyper->label_smoothing, run.at(saved), run.template at<std::int32_t>(target),
      run.at(dlogits));
  };
}

template <class T>
Run<T> of_values(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  return [f = kernel.of_values, len = b.x_shape(0).elements_per_sample(), prediction = b.in[0], target = b.in[1],
          loss = b.out[0]](const RunContext<T>& run) {
    f(run.batch, len, run.at(prediction), run.at(target), run.at(loss));
  };
}

template <class T>
Run<T> grad_of_values(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  return [f = kernel.grad_of_values, len = b.x_shape(0).elements_per_sample(), prediction = b.in[0], target = b.in[1],
          dprediction = b.out[0]](const RunContext<T>& run) {
    f(run.batch, run.total, len, run.at(prediction), run.at(target), run.at(dprediction));
  };
}

}  // namespace

template <class T>
void add_loss_kernels(KernelTable<T>& table) {
  using B = const Binding<T>&;
  for (const auto& row : kernels::kernels<T>(kernels::Isa::kPortable).losses) {
    const std::string name(row.name);
    if (row.of_classes != nullptr) {
      table[name] = [name](B b) { return of_classes(b, *b.k.loss(name)); };
      table[name + "_grad"] = [name](B b) { return grad_of_classes(b, *b.k.loss(name)); };
    } else {
      table[name] = [name](B b) { return of_values(b, *b.k.loss(name)); };
      table[name + "_grad"] = [name](B b) { return grad_of_values(b, *b.k.loss(name)); };
    }
  }
}

template void add_loss_kernels(KernelTable<float>&);
template void add_loss_kernels(KernelTable<double>&);

}  // namespace lanista::nn
