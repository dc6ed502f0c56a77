// Batch, layer and group normalisation. Means are computed from differences to the first value, as on the CPU. So equal
// values have zero variance.
#include "lanista/exec/backends/aten/aten_table.h"

namespace lanista::device {
namespace {

// Statistics of rows. Dimension `along` is reduced and stays with size 1.
struct Moments {
  Tensor mean, squares;
};

// Statistics of columns [lanes, rows, c].
Moments moments_of_columns(const Tensor& x) {
  const double count = static_cast<double>(x.size(1));
  const Tensor first = x.narrow(1, 0, 1);
  const Tensor mean = first + column_sum(x - first).unsqueeze(1) / count;
  const Tensor d = x - mean;
  return {mean, column_sum(d * d).unsqueeze(1)};
}

// Statistics of rows, along the last dimension.
Moments moments_of_rows(const Tensor& x) {
  const double count = static_cast<double>(x.size(-1));
  const Tensor first = x.narrow(-1, 0, 1);
  const Tensor mean = first + row_sum(x - first) / count;
  const Tensor d = x - mean;
  return {mean, row_sum(d * d)};
}

Tensor inverse_root(const Tensor& x) { return 1 / at::sqrt(x); }

// Dimension of the channels in a value with lanes. In the graph it is dimension 1.
constexpr std::int64_t kChannel = 2;

// Rows [lanes, rows, c] in the shape of `like`.
Tensor in_place_of(const Tensor& rows, const Tensor& like) {
  if (like.dim() == 3) return rows.reshape(like.sizes());
  return rows.reshape({like.size(0), like.size(1), like.size(3), like.size(4), like.size(2)}).permute({0, 1, 4, 2, 3});
}

AtenRun batch_norm(const AtenCall& call) {
  return [affine = call.args.flag("affine"), eps = call.args.real("eps")](const Frame&, const Tensors& in) {
    const std::size_t next = affine ? 3 : 1;
    Tensor slope = inverse_root(in[next + 1] + eps);
    if (affine) slope = slope * in[1];
    const std::int64_t rank = in[0].dim();
    Tensor y = (in[0] - expand_channels(in[next], kChannel, rank)) * expand_channels(slope, kChannel, rank);
    if (affine) y = y + expand_channels(in[2], kChannel, rank);
    return Tensors{y};
  };
}

AtenRun batch_norm_train(const AtenCall& call) {
  return [affine = call.args.flag("affine"), eps = call.args.real("eps"), number = call.lane_attr("momentum")](
             const Frame& frame, const Tensors& in) {
    const std::size_t next = affine ? 3 : 1;
    const Tensor x = rows_of(in[0], kChannel);
    const double count = static_cast<double>(x.size(1));
    const auto [mean, squares] = moments_of_columns(x);
    const Tensor inverse = inverse_root(squares / count + eps);
    Tensor y = (x - mean) * (affine ? inverse * in[1].unsqueeze(1) : inverse);
    if (affine) y = y + in[2].unsqueeze(1);
    const Tensor momentum = frame.lane_attrs.narrow(1, static_cast<std::int64_t>(number), 1);
    const Tensor keep = (1 - momentum).to(frame.real), take = momentum.to(frame.real);
    const Tensor m = mean.squeeze(1);
    // One value has no variance, so the running variance stays.
    const Tensor var = count > 1 ? in[next + 1] * keep + squares.squeeze(1) / (count - 1) * take : in[next + 1];
    return Tensors{in_place_of(y, in[0]), m, inverse.squeeze(1), in[next] * keep + m * take, var};
  };
}

AtenRun batch_norm_grad(const AtenCall&) {
  return [](const Frame&, const Tensors& in) {
    const Tensor x = rows_of(in[0], kChannel), dy = rows_of(in[3], kChannel);
    const double count = static_cast<double>(x.size(1));
    const Tensor inverse = in[2].unsqueeze(1), d = x - in[1].unsqueeze(1);
    const Tensor sum = column_sum(dy), dot = column_sum(d * inverse * dy);
    const Tensor slope = in.size() > 4 ? inverse * in[4].unsqueeze(1) : inverse;
    const Tensor dx = slope * ((dy - sum.unsqueeze(1) / count) - d * (dot.unsqueeze(1) / count * inverse));
    return Tensors{in_place_of(dx, in[0]), dot, sum};
  };
}

// Normalises the last `axes` dimensions: [lanes, rows, len], with weights [lanes, 1, len].
AtenRun layer_norm(const AtenCall& call, bool keeps) {
  std::int64_t len = 1;
  for (std::int64_t i = 0; i < call.args.integer("axes"); ++i)
    len *= call.x().dims[call.x().rank() - 1 - static_cast<std::size_t>(i)];
  const bool affine = call.args.flag("affine");
  return [len, affine, keeps, eps = call.args.real("eps"), out = call.out](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].reshape({frame.lanes, -1, len});
    const auto [mean, squares] = moments_of_rows(x);
    const Tensor inverse = inverse_root(squares / static_cast<double>(len) + eps);
    Tensor y = (x - mean) * inverse;
    if (affine) y = y * in[1].reshape({frame.lanes, 1, len}) + in[2].reshape({frame.lanes, 1, len});
    Tensors all{y.reshape(in[0].sizes())};
    if (!keeps) return all;
    all.push_back(mean.reshape(sizes_of(frame, out[1].shape)));
    all.push_back(inverse.reshape(sizes_of(frame, out[2].shape)));
    return all;
  };
}

AtenRun layer_norm_grad(const AtenCall& call) {
  std::int64_t len = call.y(1).elements_per_sample();
  return [len, out = call.out](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].reshape({frame.lanes, -1, len}), dy = in[3].reshape({frame.lanes, -1, len});
    const Tensor inverse = in[2].reshape({frame.lanes, -1, 1});
    const Tensor hat = (x - in[1].reshape({frame.lanes, -1, 1})) * inverse;
    const Tensor g = in.size() > 4 ? dy * in[4].reshape({frame.lanes, 1, len}) : dy;
    const double count = static_cast<double>(len);
    const Tensor dx = inverse * ((g - row_sum(g) / count) - hat * (row_sum(g * hat) / count));
    return Tensors{dx.reshape(in[0].sizes()), column_sum(dy * hat).reshape(sizes_of(frame, out[1].shape)),
                   column_sum(dy).reshape(sizes_of(frame, out[2].shape))};
  };
}

// Groups of neighbouring channels with all their positions: [lanes, n, groups, c/groups positions].
AtenRun group_norm(const AtenCall& call, bool keeps) {
  const bool affine = call.args.flag("affine");
  return [groups = call.args.integer("groups"), affine, keeps, eps = call.args.real("eps")](const Frame& frame,
                                                                                            const Tensors& in) {
    const Tensor x = in[0].reshape({frame.lanes, frame.batch, groups, -1});
    const auto [mean, squares] = moments_of_rows(x);
    const Tensor inverse = inverse_root(squares / static_cast<double>(x.size(-1)) + eps);
    Tensor y = ((x - mean) * inverse).reshape(in[0].sizes());
    if (affine) y = y * expand_channels(in[1], kChannel, y.dim()) + expand_channels(in[2], kChannel, y.dim());
    if (!keeps) return Tensors{y};
    return Tensors{y, mean.squeeze(-1), inverse.squeeze(-1)};
  };
}

AtenRun group_norm_grad(const AtenCall& call) {
  return [groups = call.args.integer("groups")](const Frame& frame, const Tensors& in) {
    const std::vector<std::int64_t> grouped{frame.lanes, frame.batch, groups, -1};
    const Tensor inverse = in[2].unsqueeze(-1);
    const Tensor hat = (in[0].reshape(grouped) - in[1].unsqueeze(-1)) * inverse;
    const Tensor& dy = in[3];
    const Tensor g = (in.size() > 4 ? dy * expand_channels(in[4], kChannel, dy.dim()) : dy).reshape(grouped);
    const double count = static_cast<double>(hat.size(-1));
    const Tensor dx = inverse * ((g - row_sum(g) / count) - hat * (row_sum(g * hat) / count));
    return Tensors{dx.reshape(in[0].sizes()), column_sum(rows_of(dy * hat.reshape(dy.sizes()), kChannel)),
                   column_sum(rows_of(dy, kChannel))};
  };
}

}  // namespace

void add_norms(AtenTable& table) {
  table["batch_norm"] = batch_norm;
  table["batch_norm_train"] = batch_norm_train;
  table["batch_norm_grad"] = batch_norm_grad;
  table["layer_norm"] = [](const AtenCall& call) { return layer_norm(call, false); };
  table["layer_norm_train"] = [](const AtenCall& call) { return layer_norm(call, true); };
  table["layer_norm_grad"] = layer_norm_grad;
  table["group_norm"] = [](const AtenCall& call) { return group_norm(call, false); };
  table["group_norm_train"] = [](const AtenCall& call) { return group_norm(call, true); };
  table["group_norm_grad"] = group_norm_grad;
}

}  // namespace lanista::device
