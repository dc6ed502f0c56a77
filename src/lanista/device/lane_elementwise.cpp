// Activations, masks and cross-entropy, a kernel each.
#include "lanista/device/lane_calls.h"
#include "lanista/graph/ops/rules.h"

namespace lanista::device {
namespace {

AtenRun dropout_train(const AtenCall& call, const LaneKernels* k) {
  return [k, number = static_cast<std::int64_t>(call.own_number("p")), origin = call.args.integer("origin"),
          image = call.x().rank() == 4](const Frame& frame, const Tensors& in) {
    // Elements are numbered as they lie in the CPU's memory, channels of images last.
    const Tensor x = (image ? in[0].permute({0, 1, 3, 4, 2}) : in[0]).contiguous();
    Tensor y = at::empty_like(x);
    const std::int64_t each = x.numel() / frame.lanes / frame.batch;
    k->run("dropout", x.scalar_type(), x.numel(),
           lane::Dropout{x.data_ptr(), y.data_ptr(), static_cast<const long long*>(frame.active.data_ptr()),
                         static_cast<const long long*>(frame.key_words.data_ptr()),
                         static_cast<const long long*>(frame.samples.data_ptr()),
                         static_cast<const double*>(frame.numbers.data_ptr()) + number, frame.batch, each,
                         frame.samples.stride(0), frame.numbers.stride(0), origin});
    return Tensors{image ? channels_second(y) : y};
  };
}

lane::CrossEntropy loss_of(const Frame& frame, const Tensor& x, const Tensor& labels) {
  const std::int64_t classes = x.size(-1), positions = x.numel() / frame.lanes / frame.batch / classes;
  return {.x = x.data_ptr(),
          .labels = static_cast<const long long*>(labels.data_ptr()),
          .smoothing = static_cast<const double*>(frame.smoothing.data_ptr()),
          .weights = frame.weights.defined() ? frame.weights.data_ptr() : nullptr,
          .loss = nullptr,
          .y = nullptr,
          .samples = frame.batch,
          .positions = positions,
          .classes = classes,
          .label_lane = labels.stride(0),
          .smoothing_lane = frame.smoothing.stride(0),
          .share = 1.0 / (static_cast<double>(frame.total) * static_cast<double>(positions))};
}

// Labels of lanes may be the same memory; a lane's are neighbours.
Tensor labels_of(const Tensor& labels, const Frame& frame) {
  const Tensor flat = labels.reshape({frame.lanes, -1});
  return flat.size(1) <= 1 || flat.stride(1) == 1 ? flat : flat.contiguous();
}

AtenRun cross_entropy(const AtenCall&, const LaneKernels* k) {
  return [k](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].contiguous(), labels = labels_of(in[1], frame);
    Tensor loss = at::empty({frame.lanes, frame.batch}, x.options()), p = at::empty_like(x);
    lane::CrossEntropy call = loss_of(frame, x, labels);
    call.loss = loss.data_ptr(), call.y = p.data_ptr();
    k->run_rows("cross_entropy", x.scalar_type(), frame.lanes * frame.batch, call);
    return Tensors{loss, p};
  };
}

AtenRun cross_entropy_grad(const AtenCall&, const LaneKernels* k) {
  return [k](const Frame& frame, const Tensors& in) {
    const Tensor p = in[0].contiguous(), labels = labels_of(in[1], frame);
    Tensor dx = at::empty_like(p);
    lane::CrossEntropy call = loss_of(frame, p, labels);
    call.y = dx.data_ptr();
    k->run("cross_entropy_grad", p.scalar_type(), p.numel(), call);
    return Tensors{dx};
  };
}

}  // namespace

void add_lane_elementwise(AtenTable& table, const LaneKernels& kernels) {
  const LaneKernels* const k = &kernels;
  for (const char* name : {"relu", "gelu", "silu", "hard_swish"}) {
    table[name] = plain([k, name](const Tensors& in) { return lane_elementwise(*k, name, in[0]); });
  }
  for (const char* name : {"relu_grad", "gelu_grad", "silu_grad", "hard_swish_grad"}) {
    table[name] = plain([k, name](const Tensors& in) { return lane_elementwise(*k, name, in[0], in[1]); });
  }
  table["clip"] = [k](const AtenCall& call) -> AtenRun {
    return [k, low = call.args.real("min"), high = call.args.real("max")](const Frame&, const Tensors& in) {
      return Tensors{lane_elementwise(*k, "clip", in[0], {}, low, high)};
    };
  };
  table["clip_grad"] = [k](const AtenCall& call) -> AtenRun {
    return [k, low = call.args.real("min"), high = call.args.real("max")](const Frame&, const Tensors& in) {
      return Tensors{lane_elementwise(*k, "clip_grad", in[0], in[1], low, high)};
    };
  };
  table["dropout_train"] = with(kernels, dropout_train);
  table["cross_entropy"] = with(kernels, cross_entropy);
  table["cross_entropy_grad"] = with(kernels, cross_entropy_grad);
}

}  // namespace lanista::device
