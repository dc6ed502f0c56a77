// Products and convolutions as block calls.
#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_program.h"
#include "lanista/model/ops/window.h"

namespace lanista::device {
namespace {

using Binding = program::Binding<float>;

// Sizes and strides of c = a b. Either m or k may grow with the batch.
struct ProductSizes {
  std::int64_t m = 0, m_sample = 0, n = 0, k = 0, k_sample = 0;
  std::int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0;
  std::int64_t matrices = 0, a_next = 0, b_next = 0, c_next = 0;
  bool relu = false;
};

void add_product(Emitter& e, const ProductSizes& s, const OperandRange& a, const OperandRange& b,
                 const OperandRange& bias, const OperandRange& c) {
  e.add(block::kProduct, {s.m, s.m_sample, s.n, s.k,      s.k_sample, s.a_m,    s.a_k, s.b_k, s.b_n, s.c_m,
                          1,   s.matrices, 1,   s.a_next, s.b_next,   s.c_next, 0,     0,     0,     s.relu ? 1 : 0},
        {a, b, bias, c});
}

// Transposes matrices into scratch, so that threads read neighbours together.
OperandRange add_transposed(Emitter& e, const OperandRange& x, std::int64_t matrices, std::int64_t rows,
                            std::int64_t columns) {
  OperandRange y = e.scratch(matrices * rows * columns);
  e.add(block::kTranspose, {matrices, rows, columns}, {x, y}).reads_only_parameters = x.part == SlabRegion::kState;
  y.written = false;
  return y;
}

struct Rows {
  std::int64_t fixed = 0, sample = 0;
};
// All dimensions but the last.
Rows rows_of(const graph::Shape& shape) {
  LANISTA_CHECK(shape.rank() != 4, "a linear layer on an image " + shape.text());
  const std::int64_t rows = shape.elements_per_sample() / shape.dims.back();
  return shape.has_batch() ? Rows{0, rows} : Rows{rows, 0};
}

template <bool kRelu>
void linear(const Binding& b, Emitter& e) {
  const Rows rows = rows_of(b.x_shape(0));
  const std::int64_t in = b.x_shape(0).dims.back(), out = b.y_shape().dims.back();
  add_product(e,
              {.m = rows.fixed,
               .m_sample = rows.sample,
               .n = out,
               .k = in,
               .a_m = in,
               .a_k = 1,
               .b_k = out,
               .b_n = 1,
               .c_m = out,
               .relu = kRelu},
              e.read(b, 0), e.read(b, 1), e.read(b, 2, b.in.size() > 2), e.write(b, 0));
}

void linear_grad_x(const Binding& b, Emitter& e) {
  const Rows rows = rows_of(b.x_shape(0));
  const std::int64_t out = b.x_shape(0).dims.back(), in = b.y_shape().dims.back();
  const OperandRange w = add_transposed(e, e.read(b, 1), 1, in, out);
  add_product(e,
              {.m = rows.fixed,
               .m_sample = rows.sample,
               .n = in,
               .k = out,
               .a_m = out,
               .a_k = 1,
               .b_k = in,
               .b_n = 1,
               .c_m = in},
              e.read(b, 0), w, {}, e.write(b, 0));
}

void linear_grad_w(const Binding& b, Emitter& e) {
  const Rows rows = rows_of(b.x_shape(0));
  const std::int64_t in = b.x_shape(0).dims.back(), out = b.x_shape(1).dims.back();
  add_product(e,
              {.m = in,
               .n = out,
               .k = rows.fixed,
               .k_sample = rows.sample,
               .a_m = 1,
               .a_k = in,
               .b_k = out,
               .b_n = 1,
               .c_m = out},
              e.read(b, 0), e.read(b, 1), {}, e.write(b, 0));
}

void channel_sum(const Binding& b, Emitter& e) {
  const std::int64_t columns = b.y_shape().elements_per_sample();
  e.add(block::kColumnSum, {b.x_shape(0).elements_per_sample() / columns, columns}, {e.read(b, 0), e.write(b, 0)});
}

void batch_sum(const Binding& b, Emitter& e) {
  e.add(block::kColumnSum, {1, b.x_shape(0).elements_per_sample()}, {e.read(b, 0), e.write(b, 0)});
}

struct ConvSizes {
  std::int64_t h, w, ci, oh, ow, co, kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;

  bool is_pointwise() const {
    return kh == 1 && kw == 1 && stride_h == 1 && stride_w == 1 && pad_h == 0 && pad_w == 0 && oh == h && ow == w &&
           groups == 1;
  }
  bool is_depthwise() const { return groups > 1 && groups == ci && groups == co; }
  std::vector<std::int64_t> list(bool relu, bool backward) const {
    return {h,
            w,
            ci,
            oh,
            ow,
            co,
            kh,
            kw,
            stride_h,
            stride_w,
            pad_h,
            pad_w,
            dilation_h,
            dilation_w,
            groups,
            relu ? 1 : 0,
            backward ? 1 : 0};
  }
};

ConvSizes conv_sizes(const Binding& b, const graph::Shape& x, const graph::Shape& w, const graph::Shape& y) {
  const graph::OpArgs args = b.args();
  const auto stride = args.pair("stride");
  const auto dilation = args.pair("dilation");
  const graph::ops::Pads pads = graph::ops::pads_of(args);
  return {x.dims[2], x.dims[3], x.dims[1],      y.dims[2],       y.dims[3],
          y.dims[1], w.dims[2], w.dims[3],      stride.first,    stride.second,
          pads.top,  pads.left, dilation.first, dilation.second, args.integer("groups")};
}

template <bool kRelu>
void conv2d(const Binding& b, Emitter& e) {
  const ConvSizes s = conv_sizes(b, b.x_shape(0), b.x_shape(1), b.y_shape());
  const OperandRange bias = e.read(b, 2, b.in.size() > 2);
  if (s.is_pointwise()) {
    add_product(e,
                {.m_sample = s.h * s.w,
                 .n = s.co,
                 .k = s.ci,
                 .a_m = s.ci,
                 .a_k = 1,
                 .b_k = s.co,
                 .b_n = 1,
                 .c_m = s.co,
                 .relu = kRelu},
                e.read(b, 0), e.read(b, 1), bias, e.write(b, 0));
    return;
  }
  e.add(s.is_depthwise() ? block::kDepthwise : block::kTaps, s.list(kRelu, false),
        {e.read(b, 0), e.read(b, 1), bias, e.write(b, 0)});
}

// Backward pass, from the output image to the input image.
void taps_back(const ConvSizes& s, const Binding& b, Emitter& e, const OperandRange& bias) {
  if (s.is_pointwise()) {
    const OperandRange w = add_transposed(e, e.read(b, 1), 1, s.ci, s.co);
    add_product(
        e, {.m_sample = s.h * s.w, .n = s.ci, .k = s.co, .a_m = s.co, .a_k = 1, .b_k = s.ci, .b_n = 1, .c_m = s.ci},
        e.read(b, 0), w, bias, e.write(b, 0));
    return;
  }
  const bool depthwise = s.is_depthwise();
  const OperandRange w = depthwise ? e.read(b, 1) : add_transposed(e, e.read(b, 1), s.kh * s.kw, s.ci / s.groups, s.co);
  e.add(depthwise ? block::kDepthwise : block::kTaps, s.list(false, true), {e.read(b, 0), w, bias, e.write(b, 0)});
}

void conv2d_grad_x(const Binding& b, Emitter& e) {
  taps_back(conv_sizes(b, b.y_shape(), b.x_shape(1), b.x_shape(0)), b, e, {});
}

void conv_transpose2d(const Binding& b, Emitter& e) {
  taps_back(conv_sizes(b, b.y_shape(), b.x_shape(1), b.x_shape(0)), b, e, e.read(b, 2, b.in.size() > 2));
}

void conv2d_grad_w(const Binding& b, Emitter& e) {
  const ConvSizes s = conv_sizes(b, b.x_shape(0), b.y_shape(), b.x_shape(1));
  if (s.is_pointwise()) {
    add_product(
        e, {.m = s.ci, .n = s.co, .k_sample = s.h * s.w, .a_m = 1, .a_k = s.ci, .b_k = s.co, .b_n = 1, .c_m = s.co},
        e.read(b, 0), e.read(b, 1), {}, e.write(b, 0));
    return;
  }
  e.add(s.is_depthwise() ? block::kDepthwiseWeights : block::kTapWeights, s.list(false, false),
        {e.read(b, 0), e.read(b, 1), {}, e.write(b, 0)})
      .has_phases = true;
}

// The last two dimensions are a matrix. In images (rank 4), the channels are inside of both in memory.
void matmul(const Binding& b, Emitter& e) {
  const graph::Shape &left = b.x_shape(0), &y = b.y_shape();
  const bool t_a = b.args().flag("transpose_a"), t_b = b.args().flag("transpose_b");
  const std::size_t rank = y.rank();
  const std::int64_t m = y.dims[rank - 2], n = y.dims[rank - 1], k = left.dims[t_a ? rank - 2 : rank - 1];
  const std::int64_t matrices = y.elements_per_sample() / (m * n);
  const bool image = program::value_layout(y) == program::Layout::kImage;
  const std::int64_t inner = image ? matrices : 1;
  e.add(block::kProduct,
        {m,
         0,
         n,
         k,
         0,
         (t_a ? 1 : k) * inner,
         (t_a ? m : 1) * inner,
         (t_b ? 1 : n) * inner,
         (t_b ? k : 1) * inner,
         n * inner,
         inner,
         image ? 1 : matrices,
         inner,
         m * k * inner,
         k * n * inner,
         m * n * inner,
         1,
         1,
         1,
         0},
        {e.read(b, 0), e.read(b, 1), {}, e.write(b, 0)});
}

}  // namespace

void add_dense_calls(EmitTable& table) {
  table["linear"] = linear<false>;
  table["linear_relu"] = linear<true>;
  table["linear_grad_x"] = linear_grad_x;
  table["linear_grad_w"] = linear_grad_w;
  table["channel_sum"] = channel_sum;
  table["batch_sum"] = batch_sum;
  table["conv2d"] = conv2d<false>;
  table["conv2d_relu"] = conv2d<true>;
  table["conv2d_grad_x"] = conv2d_grad_x;
  table["conv2d_grad_w"] = conv2d_grad_w;
  table["conv_transpose2d"] = conv_transpose2d;
  table["matmul"] = matmul;
}

}  // namespace lanista::device
