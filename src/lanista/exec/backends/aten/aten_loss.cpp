// Losses of samples and their gradients. The loss of a lane is the mean over its own samples; lanes are never averaged.
#include <limits>

#include "lanista/exec/backends/aten/aten_table.h"

namespace lanista::device {
namespace {

// x [lanes, batch, …] times the weight of each sample.
Tensor weighed(const Frame& frame, const Tensor& x) {
  if (!frame.weights.defined()) return x;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[0] = frame.weights.size(0);
  sizes[1] = frame.weights.size(1);
  return x * frame.weights.reshape(sizes);
}

// Rows of logits [lanes, rows, classes], and values that depend on their labels.
struct Classes {
  Tensor smoothing;  // [lanes, 1, 1]
  Tensor label;      // [lanes, rows, classes]: true at the label
  double classes;

  Classes(const Frame& frame, const Tensor& rows, const Tensor& labels) : classes(static_cast<double>(rows.size(2))) {
    smoothing = frame.smoothing.to(frame.real).reshape({-1, 1, 1});
    label = labels.reshape({rows.size(0), rows.size(1), 1}) == at::arange(rows.size(2), labels.options());
  }
  Tensor hard() const { return 1 - smoothing; }
  Tensor soft() const { return smoothing / classes; }
  /// Values of x at the labels.
  Tensor at_label(const Tensor& x) const { return row_sum(at::where(label, x, at::zeros_like(x))); }
};

Tensor rows_of_classes(const Tensor& x) { return x.reshape({x.size(0), -1, x.size(-1)}); }

// The mean over the positions of a sample.
Tensor of_samples(const Frame& frame, const Tensor& rows) {
  const Tensor positions = rows.reshape({rows.size(0), frame.batch, -1});
  return (row_sum(positions) / static_cast<double>(positions.size(2))).squeeze(2);
}

Tensors cross_entropy(const Frame& frame, const Tensors& in) {
  const Tensor x = rows_of_classes(in[0]).contiguous();
  const Classes c(frame, x, in[1]);
  const Tensor z = x - at::amax(x, {-1}, true), e = at::exp(z), sum = row_sum(e);
  const Tensor even = at::where(c.smoothing == 0, at::zeros_like(sum), c.soft() * row_sum(z));
  const Tensor loss = at::log(sum) - (c.hard() * c.at_label(z) + even);
  return {weighed(frame, of_samples(frame, loss)), (e / sum).reshape(in[0].sizes())};
}

double share(const Frame& frame, const Tensor& rows) {
  return 1.0 / (static_cast<double>(frame.total) * static_cast<double>(rows.size(1) / frame.batch));
}

Tensors cross_entropy_grad(const Frame& frame, const Tensors& in) {
  const Tensor p = rows_of_classes(in[0]);
  const Classes c(frame, p, in[1]);
  const Tensor wanted = at::where(c.label, c.hard() + c.soft(), c.soft());
  return {weighed(frame, ((p - wanted) * share(frame, p)).reshape(in[0].sizes()))};
}

Tensors focal(const Frame& frame, const Tensors& in) {
  const Tensor x = rows_of_classes(in[0]).contiguous();
  const Classes c(frame, x, in[1]);
  const Tensor z = x - at::amax(x, {-1}, true), e = at::exp(z), sum = row_sum(e), p = e / sum;
  const Tensor rest = 1 - p, part = rest * rest * (at::log(sum) - z);
  const Tensor even = at::where(c.smoothing == 0, at::zeros_like(sum), c.soft() * row_sum(part));
  return {weighed(frame, of_samples(frame, c.hard() * c.at_label(part) + even)), p.reshape(in[0].sizes())};
}

Tensors focal_grad(const Frame& frame, const Tensors& in) {
  const Tensor p = rows_of_classes(in[0]);
  const Classes c(frame, p, in[1]);
  const double least = p.scalar_type() == at::kFloat ? static_cast<double>(std::numeric_limits<float>::min())
                                                     : std::numeric_limits<double>::min();
  const Tensor rest = 1 - p, bounded = at::where(p < least, at::full_like(p, least), p);
  const Tensor a = p * 2 * rest * at::log(bounded.contiguous()) - rest * rest;
  const Tensor own = c.hard() * c.at_label(a), even = c.soft() * a;
  const Tensor all = own + at::where(c.smoothing == 0, at::zeros_like(own), c.soft() * row_sum(a));
  const Tensor slope = (even - p * all) + at::where(c.label, own, at::zeros_like(p));
  return {weighed(frame, (slope * share(frame, p)).reshape(in[0].sizes()))};
}

// [lanes, batch]: the mean over the errors of each sample.
Tensor mean_of(const Frame& frame, const Tensor& errors) { return weighed(frame, of_samples(frame, errors)); }

Tensor scaled(const Frame& frame, const Tensor& slope, double times) {
  const double numbers = static_cast<double>(slope.numel() / slope.size(0) / slope.size(1));
  return weighed(frame, slope * (times / (static_cast<double>(frame.total) * numbers)));
}

Tensor sign_of(const Tensor& x) {
  const Tensor down = at::where(x < 0, at::full_like(x, -1), x);
  return at::where(x > 0, at::full_like(x, 1), down);
}

Tensor within_one(const Tensor& x) {
  const Tensor low = at::where(x < -1, at::full_like(x, -1), x);
  return at::where(low > 1, at::full_like(x, 1), low);
}

// log(1 + e^x) - t x, without overflow for any finite x.
Tensor log_loss(const Tensor& x, const Tensor& t) {
  const Tensor zero = at::zeros_like(x);
  const Tensor rest = at::exp(at::where(x < 0, x, x * -1).contiguous()), sum = rest + 1;
  const Tensor log_of_sum = at::where(sum == 1, rest, at::log(sum) * (rest / at::where(sum == 1, sum, sum - 1)));
  return (at::where(x < 0, zero, x) - t * x) + log_of_sum;
}

// An entry for the error d, which is prediction minus target.
template <class F>
AtenPrepare of_error(F term) {
  return [term](const AtenCall&) -> AtenRun {
    return [term](const Frame& frame, const Tensors& in) { return Tensors{mean_of(frame, term(in[0] - in[1]))}; };
  };
}

template <class F>
AtenPrepare slope_of_error(double times, F slope) {
  return [times, slope](const AtenCall&) -> AtenRun {
    return [times, slope](const Frame& frame, const Tensors& in) {
      return Tensors{scaled(frame, slope(in[0] - in[1]), times)};
    };
  };
}

AtenPrepare entry(Tensors (*run)(const Frame&, const Tensors&)) {
  return [run](const AtenCall&) -> AtenRun { return run; };
}

}  // namespace

void add_losses(AtenTable& table) {
  table["cross_entropy"] = entry(cross_entropy);
  table["cross_entropy_grad"] = entry(cross_entropy_grad);
  table["focal"] = entry(focal);
  table["focal_grad"] = entry(focal_grad);
  table["mse"] = of_error([](const Tensor& d) { return d * d; });
  table["mse_grad"] = slope_of_error(2, [](const Tensor& d) { return d; });
  table["mae"] = of_error([](const Tensor& d) { return sign_of(d) * d; });
  table["mae_grad"] = slope_of_error(1, sign_of);
  table["huber"] = of_error([](const Tensor& d) {
    const Tensor c = within_one(d);
    return c * (d - c * 0.5);
  });
  table["huber_grad"] = slope_of_error(1, within_one);
  table["bce"] =
      entry([](const Frame& frame, const Tensors& in) { return Tensors{mean_of(frame, log_loss(in[0], in[1]))}; });
  table["bce_grad"] =
      entry([](const Frame& frame, const Tensors& in) { return Tensors{scaled(frame, sigmoid_of(in[0]) - in[1], 1)}; });
}

}  // namespace lanista::device
