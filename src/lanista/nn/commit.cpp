#include "lanista/nn/commit.h"

#include <algorithm>
#include <cmath>

namespace lanista::nn {

template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, step::Optimizer optimizer,
            const LaneHyper& hyper, const kernels::Kernels<T>& k) {
  const StateLayout& layout = state.kind().layout();
  double scale = 1;
  if (hyper.clip_norm > 0) {
    // Parameters that no gradient reaches have zeros here. Not below one, and not-a-number too: scale.
    const double norm = std::sqrt(k.square_norm(layout.parameters, gradients));
    const double wanted = hyper.clip_norm / (norm + 1e-6);
    if (!(wanted >= 1)) scale = wanted;
  }
  for (const Range& run : layout.trained) {
    if (optimizer == step::Optimizer::kSgd) {
      const kernels::SgdHyper sgd{.lr = hyper.lr,
                                  .momentum = hyper.momentum,
                                  .weight_decay = hyper.weight_decay,
                                  .grad_scale = scale,
                                  .nesterov = hyper.nesterov,
                                  .first_step = state.step_count() == 0};
      k.sgd(run.count, sgd, gradients + run.begin, state.parameters<T>() + run.begin,
            hyper.momentum == 0 ? nullptr : state.slot<T>(0) + run.begin);
    } else {
      const kernels::AdamHyper adam{.lr = hyper.lr,
                                    .beta1 = hyper.beta1,
                                    .beta2 = hyper.beta2,
                                    .eps = hyper.eps,
                                    .weight_decay = hyper.weight_decay,
                                    .grad_scale = scale,
                                    .step = state.step_count() + 1,
                                    .decoupled = optimizer == step::Optimizer::kAdamW};
      k.adam(run.count, adam, gradients + run.begin, state.parameters<T>() + run.begin, state.slot<T>(0) + run.begin,
             state.slot<T>(1) + run.begin);
    }
  }
  for (const Range& run : layout.renewed) {
    std::copy_n(new_buffers + run.begin, run.count, state.buffers<T>() + run.begin);
  }
  state.count_step();
}

template void commit(LaneState&, const float*, const float*, step::Optimizer, const LaneHyper&,
                     const kernels::Kernels<float>&);
template void commit(LaneState&, const double*, const double*, step::Optimizer, const LaneHyper&,
                     const kernels::Kernels<double>&);

}  // namespace lanista::nn
