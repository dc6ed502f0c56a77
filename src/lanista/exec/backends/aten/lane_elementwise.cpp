// Activations, masks and cross-entropy, one kernel each.
#include <algorithm>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/backends/aten/lane_calls.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::device {
namespace {

AtenRun dropout_train(const AtenCall& call, const LaneKernels* k) {
  return [k, number = static_cast<std::int64_t>(call.lane_attr("p")), origin = call.args.integer("origin"),
          image = call.x().rank() == 4](const Frame& frame, const Tensors& in) {
    // Elements are numbered in the CPU's memory order, channels of images last.
    const Tensor x = (image ? in[0].permute({0, 1, 3, 4, 2}) : in[0]).contiguous();
    Tensor y = at::empty_like(x);
    const std::int64_t each = x.numel() / frame.lanes / frame.batch;
    k->run("dropout", x.scalar_type(), x.numel(),
           lane::Dropout{x.data_ptr(), y.data_ptr(), static_cast<const long long*>(frame.active.data_ptr()),
                         static_cast<const long long*>(frame.mask_keys.data_ptr()),
                         static_cast<const long long*>(frame.samples.data_ptr()),
                         static_cast<const double*>(frame.lane_attrs.data_ptr()) + number, frame.batch, each,
                         frame.samples.stride(0), frame.lane_attrs.stride(0), origin});
    return Tensors{image ? to_channels_first(y) : y};
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
          .gradient = nullptr,
          .samples = frame.batch,
          .positions = positions,
          .classes = classes,
          .label_stride = labels.stride(0),
          .smoothing_stride = frame.smoothing.stride(0),
          .share = 1.0 / (static_cast<double>(frame.total) * static_cast<double>(positions))};
}

// Lanes may share their labels; the labels of a lane are contiguous.
Tensor labels_of(const Tensor& labels, const Frame& frame) {
  const Tensor flat = labels.reshape({frame.lanes, -1});
  return flat.size(1) <= 1 || flat.stride(1) == 1 ? flat : flat.contiguous();
}

AtenRun cross_entropy(const LaneKernels* k, bool with_gradient) {
  return [k, with_gradient](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].contiguous(), labels = labels_of(in[1], frame);
    Tensor loss = at::empty({frame.lanes, frame.batch}, x.options()), p = at::empty_like(x);
    lane::CrossEntropy call = loss_of(frame, x, labels);
    Tensors out{loss, p};
    if (with_gradient) out.push_back(at::empty_like(x));
    call.loss = loss.data_ptr(), call.y = p.data_ptr(), call.gradient = with_gradient ? out[2].data_ptr() : nullptr;
    k->run_rows("cross_entropy", x.scalar_type(), frame.lanes * frame.batch, call.classes, call);
    return out;
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

// Terms with equal layouts are added in one pass, up to four at a time.
Tensor sum_of_many(const LaneKernels& kernels, const Tensors& in) {
  Tensor sum = in[0].is_non_overlapping_and_dense() ? in[0] : in[0].contiguous();
  for (std::size_t next = 1; next < in.size();) {
    const std::size_t terms = std::min<std::size_t>(3, in.size() - next);
    Tensors kept{sum};
    lane::Sum call{};
    std::int64_t vector_width = vector_width_of(sum, sum.numel());
    for (std::size_t i = 0; i < terms; ++i) {
      kept.push_back(with_layout_of(in[next + i], sum));
      vector_width = std::min(vector_width, vector_width_of(kept.back(), sum.numel()));
    }
    for (std::size_t i = 0; i < kept.size(); ++i) call.x[i] = kept[i].data_ptr();
    Tensor y = at::empty_like(sum);
    call.y = y.data_ptr(), call.terms = static_cast<std::int64_t>(kept.size()), call.vector_width = vector_width;
    kernels.run("sum", sum.scalar_type(), sum.numel() / vector_width, call);
    sum = y;
    next += terms;
  }
  return sum;
}

lane::Embedding embedding_of(const Frame& frame, const Tensor& tokens, std::int64_t vocab) {
  lane::Embedding call{};
  call.tokens = static_cast<const long long*>(tokens.data_ptr());
  call.each = tokens.numel() / frame.lanes, call.vocab = vocab, call.token_stride = tokens.stride(0);
  return call;
}

// The elements of a lane are contiguous; the lanes need not be.
Tensor dense_lanes(const Tensor& x) { return x.select(0, 0).is_contiguous() ? x : x.contiguous(); }

// Adds a value per position if there is a third input.
AtenRun embedding(const LaneKernels* k) {
  return [k](const Frame& frame, const Tensors& in) {
    const Tensor tokens = labels_of(in[0], frame), table = dense_lanes(in[1]);
    std::vector<std::int64_t> sizes = in[0].sizes().vec();
    sizes.push_back(table.size(2));
    Tensor y = at::empty(sizes, table.options());
    lane::Embedding call = embedding_of(frame, tokens, table.size(1));
    call.table = table.data_ptr(), call.y = y.data_ptr(), call.dim = table.size(2), call.stride = table.stride(0);
    bool fours = vector_width_of(y, call.dim) == 4 && lanes_can_load_fours(table.flatten(1));
    Tensor position;
    if (in.size() > 2) {
      position = dense_lanes(in[2]);
      call.position = position.data_ptr(), call.positions = position.size(1), call.position_stride = position.stride(0);
      fours = fours && lanes_can_load_fours(position.flatten(1));
    }
    call.vector_width = fours ? 4 : 1;
    k->run("embedding", table.scalar_type(), y.numel() / call.vector_width, call);
    return Tensors{y};
  };
}

// The positions of a lane are one row, which is added to the rows of every sample.
Tensor positional_embedding(const LaneKernels& kernels, const Tensors& in) {
  const Tensor x = in[0].contiguous(), by = dense_lanes(in[1]).flatten(1);
  const Tensor rows = x.reshape({x.size(0), -1, by.size(1)});
  return lane_add_columns(kernels, rows, by, at::empty_like(rows)).reshape(in[0].sizes());
}

// Each row of the table gets the sum of the gradient rows of its token, in order.
AtenRun embedding_grad(const AtenCall& call, const LaneKernels* k) {
  return [k, vocab = call.args.integer("vocab")](const Frame& frame, const Tensors& in) {
    const Tensor tokens = labels_of(in[0], frame), dy = in[1].contiguous();
    Tensor y = at::empty({frame.lanes, vocab, dy.size(-1)}, dy.options());
    lane::Embedding of = embedding_of(frame, tokens, vocab);
    of.table = dy.data_ptr(), of.y = y.data_ptr(), of.dim = dy.size(-1);
    k->run_rows("embedding_grad", y.scalar_type(), frame.lanes * vocab, of.each, of);  // each row scans the tokens
    return Tensors{y};
  };
}

// Means over the rows of images or of positions are column sums.
AtenRun mean_over_rows(const LaneKernels* k) {
  return [k](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].dim() == 5 ? in[0].permute({0, 1, 3, 4, 2}) : in[0];
    const std::int64_t channels = x.size(-1);
    const Tensor rows = x.reshape({frame.lanes * frame.batch, -1, channels});
    return Tensors{
        (lane_column_sum(*k, rows) / static_cast<double>(rows.size(1))).reshape({frame.lanes, frame.batch, channels})};
  };
}

}  // namespace

void add_lane_elementwise_fusions(AtenFusions& fusions, const LaneKernels& kernels) {
  fusions[{"cross_entropy", "cross_entropy_grad"}] = {
      AtenFusion::kReadsFirstOutput, [k = &kernels](std::span<const AtenCall>) { return cross_entropy(k, true); }};
  fusions[{"embedding", "positional_embedding"}] = {AtenFusion::kReplacesFirstInput,
                                                    [k = &kernels](std::span<const AtenCall>) { return embedding(k); }};
}

void add_lane_elementwise(AtenTable& table, const LaneKernels& kernels) {
  const LaneKernels* const k = &kernels;
  for (const char* name : {"relu", "gelu", "silu", "hard_swish"}) {
    table[name] = elementwise_entry([k, name](const Tensors& in) { return lane_elementwise(*k, name, in[0]); });
  }
  for (const char* name : {"relu_grad", "gelu_grad", "silu_grad", "hard_swish_grad"}) {
    table[name] = elementwise_entry([k, name](const Tensors& in) { return lane_elementwise(*k, name, in[0], in[1]); });
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
  table["add"] = elementwise_entry([k](const Tensors& in) { return sum_of_many(*k, in); });
  table["embedding"] = [k](const AtenCall&) { return embedding(k); };
  table["positional_embedding"] = elementwise_entry([k](const Tensors& in) { return positional_embedding(*k, in); });
  table["embedding_grad"] = with_kernels(kernels, embedding_grad);
  table["batch_sum"] = [k](const AtenCall& call) -> AtenRun {
    return [k, y = call.y()](const Frame& frame, const Tensors& in) {
      return Tensors{lane_column_sum(*k, in[0].reshape({frame.lanes, frame.batch, -1})).reshape(sizes_of(frame, y))};
    };
  };
  for (const char* name : {"mean", "global_avg_pool"}) {
    table[name] = [k, usual = table.at(name)](const AtenCall& call) -> AtenRun {
      const bool image = call.x().rank() == 4, positions = call.x().rank() == 3;
      const std::vector<std::int64_t> rows = image ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{1};
      const bool global = call.args.def.name == "global_avg_pool";
      const bool asked = global ? image : (image || positions) && call.args.list("axes") == rows;
      if (!asked) return usual(call);
      return [mean = mean_over_rows(k), y = call.y()](const Frame& frame, const Tensors& in) {
        return Tensors{mean(frame, in)[0].reshape(sizes_of(frame, y))};
      };
    };
  }
  table["dropout_train"] = with_kernels(kernels, dropout_train);
  table["cross_entropy"] = [k](const AtenCall&) { return cross_entropy(k, false); };
  table["cross_entropy_grad"] = with_kernels(kernels, cross_entropy_grad);
}

}  // namespace lanista::device
