// Losses and their gradients, multiplied by the weights of samples. Value and gradient are linear in the weights, so a
// loss kernel does not need them.
#include <algorithm>

#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {
namespace {

/// Multiplies `rows` [batch, width] by the weight of each row's sample. A part of a batch has its part of the weights,
/// so sums over parts equal those of the whole batch.
template <class T>
class Weighting {
 public:
  Weighting(const kernels::Kernels<T>& k, std::int64_t width) : scale_(k.scale), width_(width) {}

  void operator()(const RunContext<T>& run, T* rows) const {
    if (run.weights == nullptr) return;
    for (std::int64_t i = 0; i < run.batch; ++i, rows += width_) {
      scale_(width_, static_cast<T>(run.weights[i]), rows, rows);
    }
  }

 private:
  void (*scale_)(std::int64_t count, T factor, const T* x, T* y);
  std::int64_t width_;
};

constexpr std::int64_t kPositionsAtOnce = 64;

/// Returns the loss of each sample: the mean over its positions, added in their order from zero. The number of
/// positions a call does not change the bits.
template <class T>
void mean_over_positions(const kernels::LossKernel<T>& kernel, std::int64_t samples, std::int64_t positions,
                         std::int64_t classes, double smoothing, const T* logits, const std::int32_t* target, T* loss,
                         T* saved) {
  T some[kPositionsAtOnce];
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    T sum = 0;
    for (std::int64_t done = 0; done < positions; done += kPositionsAtOnce) {
      const std::int64_t count = std::min(positions - done, kPositionsAtOnce);
      kernel.of_classes(count, classes, smoothing, logits, target, some, saved);
      for (std::int64_t i = 0; i < count; ++i) sum += some[i];
      logits += count * classes;
      saved += count * classes;
      target += count;
    }
    loss[sample] = sum / static_cast<T>(positions);
  }
}

/// The number of rows of logits of a sample.
std::int64_t positions_of(const graph::Shape& logits) { return logits.elements_per_sample() / logits.dims.back(); }

template <class T>
Run<T> of_classes(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  const std::int64_t positions = positions_of(b.x_shape(0));
  return [&kernel, weigh = Weighting<T>(b.k, 1), classes = b.x_shape(0).dims.back(), positions, logits = b.in[0],
          target = b.in[1], loss = b.out[0], saved = b.out[1]](const RunContext<T>& run) {
    const double smoothing = run.hyper->label_smoothing;
    const auto* labels = run.template at<std::int32_t>(target);
    if (positions == 1) {
      kernel.of_classes(run.batch, classes, smoothing, run.at(logits), labels, run.at(loss), run.at(saved));
    } else {
      mean_over_positions(kernel, run.batch, positions, classes, smoothing, run.at(logits), labels, run.at(loss),
                          run.at(saved));
    }
    weigh(run, run.at(loss));
  };
}

template <class T>
Run<T> grad_of_classes(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  const std::int64_t classes = b.x_shape(0).dims.back(), positions = positions_of(b.x_shape(0));
  return [f = kernel.grad_of_classes, weigh = Weighting<T>(b.k, classes * positions), classes, positions,
          saved = b.in[0], target = b.in[1], dlogits = b.out[0]](const RunContext<T>& run) {
    f(run.batch * positions, run.total * positions, classes, run.hyper->label_smoothing, run.at(saved),
      run.template at<std::int32_t>(target), run.at(dlogits));
    weigh(run, run.at(dlogits));
  };
}

template <class T>
Run<T> of_values(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  return [f = kernel.of_values, weigh = Weighting<T>(b.k, 1), len = b.x_shape(0).elements_per_sample(),
          prediction = b.in[0], target = b.in[1], loss = b.out[0]](const RunContext<T>& run) {
    f(run.batch, len, run.at(prediction), run.at(target), run.at(loss));
    weigh(run, run.at(loss));
  };
}

template <class T>
Run<T> grad_of_values(const Binding<T>& b, const kernels::LossKernel<T>& kernel) {
  const std::int64_t len = b.x_shape(0).elements_per_sample();
  return [f = kernel.grad_of_values, weigh = Weighting<T>(b.k, len), len, prediction = b.in[0], target = b.in[1],
          dprediction = b.out[0]](const RunContext<T>& run) {
    f(run.batch, run.total, len, run.at(prediction), run.at(target), run.at(dprediction));
    weigh(run, run.at(dprediction));
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

}  // namespace lanista::program
