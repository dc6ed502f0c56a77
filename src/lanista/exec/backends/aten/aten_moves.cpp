// Data movement, means over axes, gates and shuffles of channels, and embedding tables.
#include <algorithm>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::device {
namespace {

AtenRun reshape(const AtenCall& call) {
  return [y = call.y()](const Frame& frame, const Tensors& in) { return Tensors{in[0].reshape(sizes_of(frame, y))}; };
}

AtenRun transpose(const AtenCall& call) {
  return [axes = axes_of(call)](const Frame&, const Tensors& in) { return Tensors{in[0].permute(axes)}; };
}

std::int64_t axis_of(const AtenCall& call) {
  const std::int64_t axis = call.args.integer("axis");
  return axis < 0 ? axis : axis + 1;
}

AtenRun concat(const AtenCall& call) {
  return [axis = axis_of(call)](const Frame&, const Tensors& in) { return Tensors{at::cat(in, axis)}; };
}

AtenRun slice(const AtenCall& call) {
  const graph::ops::SliceRange range = *graph::ops::slice_range(call.args);
  return [range](const Frame&, const Tensors& in) {
    return Tensors{in[0].narrow(static_cast<std::int64_t>(range.axis) + 1, range.begin, range.len)};
  };
}

AtenRun slice_grad(const AtenCall& call) {
  return
      [axis = axis_of(call), start = call.args.integer("start"), y = call.y()](const Frame& frame, const Tensors& in) {
        Tensor dx = at::zeros(sizes_of(frame, y), frame.real);
        dx.narrow(axis, start, in[0].size(axis)).copy_(in[0]);
        return Tensors{dx};
      };
}

// `sign` -1 crops instead.
AtenRun frame_of(const AtenCall& call, std::int64_t sign) {
  const std::vector<std::int64_t> pads = call.args.list("pads");
  return [pads, sign](const Frame&, const Tensors& in) {
    return Tensors{at::constant_pad_nd(in[0], {sign * pads[2], sign * pads[3], sign * pads[0], sign * pads[1]}, 0)};
  };
}

AtenRun mean_over(const AtenCall& call, std::vector<std::int64_t> axes) {
  const std::int64_t rank = static_cast<std::int64_t>(call.x().rank());
  std::vector<std::int64_t> order{0};
  for (std::int64_t i = 0; i < rank; ++i) {
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i + 1);
  }
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) {
    order.push_back(axis + 1);
    count *= call.x().dims[static_cast<std::size_t>(axis)];
  }
  return [order, count, y = call.y()](const Frame& frame, const Tensors& in) {
    std::vector<std::int64_t> sizes = sizes_of(frame, y);
    sizes.push_back(count);
    return Tensors{row_sum(in[0].permute(order).reshape(sizes)).squeeze(-1) / static_cast<double>(count)};
  };
}

AtenRun mean_grad(const AtenCall& call) {
  return [share = MeanGradientShare(call)](const Frame& frame, const Tensors& in) {
    return Tensors{share(frame, in[0] / share.count)};
  };
}

// gate [lanes, N, C] with the rank of x and its channels at `channel`.
Tensor gate_like(const Tensor& gate, const Tensor& x, std::int64_t channel) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[0] = x.size(0);
  sizes[1] = x.size(1);
  sizes[static_cast<std::size_t>(channel)] = gate.size(2);
  return gate.reshape(sizes);
}

AtenRun scale(const AtenCall& call) {
  return [channel = channel_of(call.x())](const Frame&, const Tensors& in) {
    return Tensors{in[0] * gate_like(in[1], in[0], channel)};
  };
}

AtenRun scale_grad_gate(const AtenCall& call) {
  return [channel = channel_of(call.x()), y = call.y()](const Frame& frame, const Tensors& in) {
    const Tensor terms = (in[0] * in[1]).transpose(channel, -1);
    const Tensor rows = terms.reshape({frame.lanes * frame.batch, -1, terms.size(-1)});
    return Tensors{column_sum(rows).reshape(sizes_of(frame, y))};
  };
}

AtenRun channel_shuffle(const AtenCall& call) {
  return [groups = call.args.integer("groups")](const Frame&, const Tensors& in) {
    const Tensor& x = in[0];
    return Tensors{
        x.reshape({x.size(0), x.size(1), groups, -1, x.size(3), x.size(4)}).transpose(2, 3).reshape(x.sizes())};
  };
}

struct LrnSizes {
  std::int64_t size;
  double slope, beta, bias;
};

LrnSizes lrn_of(const AtenCall& call) {
  return {call.args.integer("size"), call.args.real("alpha") / static_cast<double>(call.args.integer("size")),
          call.args.real("beta"), call.args.real("bias")};
}

// The sum over neighbouring channels; channels outside are zero.
Tensor window_sum(const Tensor& x, std::int64_t size) {
  const std::int64_t side = std::min((size - 1) / 2, x.size(2) - 1), channels = x.size(2);
  const Tensor fringed = at::constant_pad_nd(x, {0, 0, 0, 0, side, side}, 0);
  Tensor sum = fringed.narrow(2, 0, channels);
  for (std::int64_t i = 1; i <= 2 * side; ++i) sum = sum + fringed.narrow(2, i, channels);
  return sum;
}

Tensor lrn_base(const Tensor& x, const LrnSizes& s) { return window_sum(x * x, s.size) * s.slope + s.bias; }
Tensor shrink(const Tensor& base, const LrnSizes& s) { return at::exp(at::log(base) * -s.beta); }

AtenRun lrn(const AtenCall& call) {
  return [s = lrn_of(call)](const Frame&, const Tensors& in) { return Tensors{in[0] * shrink(lrn_base(in[0], s), s)}; };
}

AtenRun lrn_grad(const AtenCall& call) {
  return [s = lrn_of(call)](const Frame&, const Tensors& in) {
    const Tensor base = lrn_base(in[0], s), own = in[1] * shrink(base, s);
    return Tensors{own + in[0] * (-2 * s.slope * s.beta) * window_sum(own * in[0] / base, s.size)};
  };
}

// Rows of the concatenated tables of all lanes. A token that is not in the table gives zeros.
Tensor embedding(const Tensors& in) {
  const Tensor& tokens = in[0];
  const Tensor& table = in[1];
  const std::int64_t lanes = table.size(0), vocab = table.size(1), dim = table.size(2);
  const Tensor known = (tokens >= 0).logical_and(tokens < vocab);
  const Tensor first = at::arange(lanes, tokens.options()).reshape({lanes, 1, 1}) * vocab;
  const Tensor rows = at::where(known, tokens, at::zeros_like(tokens)) + first;
  const Tensor y = table.reshape({lanes * vocab, dim}).index_select(0, rows.reshape({-1}));
  std::vector<std::int64_t> sizes = tokens.sizes().vec();
  sizes.push_back(dim);
  return at::where(known.unsqueeze(-1), y.reshape(sizes), at::zeros({}, table.options()));
}

// A product with one-hot rows, so that no two threads add to one element.
AtenRun embedding_grad(const AtenCall& call) {
  return [vocab = call.args.integer("vocab")](const Frame& frame, const Tensors& in) {
    const Tensor tokens = in[0].reshape({frame.lanes, -1});
    const Tensor marks = (tokens.unsqueeze(-1) == at::arange(vocab, tokens.options())).to(frame.real);
    return Tensors{at::bmm(marks.transpose(1, 2), in[1].reshape({frame.lanes, -1, in[1].size(-1)}))};
  };
}

AtenRun batch_sum(const AtenCall& call) {
  return [y = call.y()](const Frame& frame, const Tensors& in) {
    return Tensors{column_sum(in[0].reshape({frame.lanes, frame.batch, -1})).reshape(sizes_of(frame, y))};
  };
}

}  // namespace

MeanGradientShare::MeanGradientShare(const AtenCall& call) : kept(call.y()), all(call.y()) {
  for (const std::int64_t axis : call.args.list("axes")) {
    count *= static_cast<double>(std::exchange(kept.dims[static_cast<std::size_t>(axis)], 1));
  }
}

Tensor MeanGradientShare::operator()(const Frame& frame, const Tensor& shares) const {
  return shares.reshape(sizes_of(frame, kept)).expand(sizes_of(frame, all));
}

void add_moves(AtenTable& table) {
  table["identity"] = elementwise_entry([](const Tensors& in) { return in[0]; });
  table["dropout"] = table["identity"];  // inference form
  table["flatten"] = reshape;
  table["reshape"] = reshape;
  table["transpose"] = transpose;
  table["concat"] = concat;
  table["slice"] = slice;
  table["slice_grad"] = slice_grad;
  table["pad"] = [](const AtenCall& call) { return frame_of(call, 1); };
  table["crop"] = [](const AtenCall& call) { return frame_of(call, -1); };
  table["mean"] = [](const AtenCall& call) { return mean_over(call, call.args.list("axes")); };
  table["mean_grad"] = mean_grad;
  table["global_avg_pool"] = [](const AtenCall& call) {
    return mean_over(call, call.x().rank() == 4 ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{2});
  };
  table["scale"] = scale;
  table["scale_grad_gate"] = scale_grad_gate;
  table["channel_shuffle"] = channel_shuffle;
  table["lrn"] = lrn;
  table["lrn_grad"] = lrn_grad;
  table["embedding"] = elementwise_entry(embedding);
  table["embedding_grad"] = embedding_grad;
  table["positional_embedding"] = elementwise_entry([](const Tensors& in) { return in[0] + in[1].unsqueeze(1); });
  table["batch_sum"] = batch_sum;
}

}  // namespace lanista::device
