#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::kernels {

// Memory layouts. Images are [n][h][w][c] ("NHWC"); everything else is row-major as written. Linear weights are
// [in][out], convolution weights [kh][kw][ci / groups][co] with the groups side by side in co. No padding anywhere;
// no alignment is required. Every kernel accepts any size including odd ones, allocates nothing and cannot fail.
//
// Numbers. A product sum starts at zero, takes one fused multiply-add per term in the stated ascending order, and
// adds the bias last. A reduction's order may depend on shapes, never on pointers, lanes or threads. Results are
// the same bytes at every vector width with FMA; the portable level (no FMA) is a numeric class of its own.

/// How fast instructions get: one translation unit of the family per level.
enum class Isa { kPortable, kAvx2, kAvx512 };
std::string_view isa_name(Isa isa);
/// The best level this CPU has; LANISTA_ISA=portable|avx2|avx512 forces one (an unknown or unavailable one is ignored
/// by this function and reported by `isa_override_error`).
Isa best_isa();
std::vector<Isa> available_isas();
std::string isa_override_error();  ///< empty, or why LANISTA_ISA was not followed

/// Sets flush-to-zero and denormals-are-zero for the calling thread; part of the numerics of every worker.
void set_flush_to_zero();

struct ConvShape {
  std::int64_t n, h, w, ci;  ///< input [n][h][w][ci]
  std::int64_t oh, ow, co;   ///< output [n][oh][ow][co]
  std::int64_t kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
};
struct PoolShape {
  std::int64_t n, h, w, c;
  std::int64_t oh, ow;
  std::int64_t kh, kw, stride_h, stride_w, pad_h, pad_w;  ///< pad_h above, pad_w on the left
  std::int64_t pad_bottom, pad_right;                     ///< average pooling alone asks for these
  bool count_include_pad;  ///< average pooling: divide by kh*kw (true) or by the valid cells (false)
};
struct ResizeShape {
  std::int64_t n, h, w, c;  ///< input [n][h][w][c]
  std::int64_t oh, ow;      ///< output [n][oh][ow][c]
};
/// Normalisation over neighbouring channels: x (bias + alpha / size sum of squares) ^ -beta over the `size` channels
/// from c - (size - 1) / 2 on that exist.
struct LrnShape {
  std::int64_t rows, c, size;
  double alpha, beta, bias;
};
/// A tensor seen along one axis: [outer][len][inner].
struct AxisShape {
  std::int64_t outer, len, inner;
};
/// Matrix product per batch: c[m][n] = op(a) op(b), reduction in ascending k. a is [m][k] or, transposed, [k][m]; b is
/// [k][n] or [n][k].
struct MatmulShape {
  std::int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
};

/// Keys of the counter-based mask: element e of sample s keeps its value iff the hash of all of this is below 1 - p.
struct DropoutKey {
  std::uint64_t trial_seed;
  std::uint64_t step;
  std::uint64_t node;
};

/// An activation without numbers of its own, and its gradient, over `count` elements; every element alone, so results
/// may take the place of x, and of dy.
template <class T>
struct ActivationKernel {
  std::string_view op;       ///< its operator; the gradient's is op + "_grad"
  bool from_output = false;  ///< `saved` of the gradient is y, not x
  void (*forward)(std::int64_t count, const T* x, T* y) = nullptr;
  void (*gradient)(std::int64_t count, const T* saved, const T* dy, T* dx) = nullptr;
};

/// A loss of each sample, and the gradient of the mean loss over `total` samples, of which these are `rows`. One of the
/// two pairs is set, by the kind of its target.
template <class T>
struct LossKernel {
  std::string_view name;  ///< in recipes
  /// Targets are class numbers. `saved` [rows, classes] is for the gradient.
  void (*of_classes)(std::int64_t rows, std::int64_t classes, double smoothing, const T* logits,
                     const std::int32_t* target, T* loss, T* saved) = nullptr;
  void (*grad_of_classes)(std::int64_t rows, std::int64_t total, std::int64_t classes, double smoothing, const T* saved,
                          const std::int32_t* target, T* dlogits) = nullptr;
  /// Targets are `len` numbers a sample.
  void (*of_values)(std::int64_t rows, std::int64_t len, const T* prediction, const T* target, T* loss) = nullptr;
  void (*grad_of_values)(std::int64_t rows, std::int64_t total, std::int64_t len, const T* prediction, const T* target,
                         T* dprediction) = nullptr;
};

/// The numbers of an update; doubles, converted once. A rule reads those that are its own.
struct UpdateHyper {
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0, beta2 = 0, eps = 0;
  double grad_scale = 1;  ///< multiplies the gradient first (clipping)
  bool nesterov = false;
  std::int64_t step = 1;  ///< that it makes, from 1
};

/// The rule of an optimiser: one pass over flat arrays of `count` elements, in place, every element alone.
template <class T>
struct UpdateKernel {
  std::string_view optimizer;  ///< its name in recipes
  std::size_t slots = 0;       ///< arrays that it keeps beside the parameters; zeros before the first step
  void (*run)(std::int64_t count, const UpdateHyper&, const T* grad, T* param, T* const* slots) = nullptr;
};

inline constexpr int kProbeChains = 12;

/// The family at one ISA level for one element type. Pointers may not overlap unless a comment says so.
template <class T>
struct Kernels {
  // Dense and convolution. `bias` may be null. Scratch sizes are in elements.
  void (*linear)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, const T* bias, T* y);
  void (*linear_relu)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, const T* bias,
                      T* y);  ///< fused epilogue, same bits as linear then relu
  void (*linear_grad_x)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* dy, const T* w, T* dx);
  void (*linear_grad_w)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* dy, T* dw);
  void (*conv2d)(const ConvShape&, const T* x, const T* w, const T* bias, T* y, T* scratch);
  void (*conv2d_relu)(const ConvShape&, const T* x, const T* w, const T* bias, T* y, T* scratch);
  void (*conv2d_grad_x)(const ConvShape&, const T* dy, const T* w, T* dx, T* scratch);
  void (*conv2d_grad_w)(const ConvShape&, const T* x, const T* dy, T* dw, T* scratch);
  std::int64_t (*conv2d_scratch)(const ConvShape&);  ///< enough for any of the four
  void (*matmul)(const MatmulShape&, const T* a, const T* b, T* c);
  void (*column_sum)(std::int64_t rows, std::int64_t columns, const T* x,
                     T* sum);  ///< bias gradient: plain sum over rows in ascending order

  /// Activations without numbers (family/activation.inc.h).
  std::span<const ActivationKernel<T>> activations;
  // Activations with numbers over `count` elements; gradients take the saved output y or input x as named. dx may equal
  // dy.
  void (*leaky_relu)(std::int64_t count, T alpha, const T* x, T* y);
  void (*leaky_relu_grad)(std::int64_t count, T alpha, const T* x, const T* dy, T* dx);
  void (*elu)(std::int64_t count, T alpha, const T* x, T* y);  ///< alpha expm1(x) below zero
  void (*elu_grad)(std::int64_t count, T alpha, const T* y, const T* dy, T* dx);
  void (*clip)(std::int64_t count, T low, T high, const T* x, T* y);
  void (*clip_grad)(std::int64_t count, T low, T high, const T* y, const T* dy, T* dx);  ///< zero at the ends too
  void (*hard_sigmoid)(std::int64_t count, T alpha, T beta, const T* x, T* y);           ///< alpha x + beta in [0, 1]
  void (*hard_sigmoid_grad)(std::int64_t count, T alpha, const T* y, const T* dy, T* dx);
  void (*softmax)(const AxisShape&, const T* x, T* y);
  void (*softmax_grad)(const AxisShape&, const T* y, const T* dy, T* dx);

  // Element-wise.
  void (*add)(std::int64_t count, const T* a, const T* b, T* y);  ///< y may equal a or b
  void (*sub)(std::int64_t count, const T* a, const T* b, T* y);
  void (*mul)(std::int64_t count, const T* a, const T* b, T* y);
  void (*div)(std::int64_t count, const T* a, const T* b, T* y);
  void (*scale)(std::int64_t count, T factor, const T* x, T* y);  ///< y may equal x
  void (*row_add)(std::int64_t rows, std::int64_t columns, const T* x, const T* row,
                  T* y);  ///< y[r][i] = x[r][i] + row[i]; y may equal x
  void (*gate)(std::int64_t n, std::int64_t rows, std::int64_t c, const T* x, const T* g,
               T* y);  ///< y[n][r][c] = x[n][r][c] g[n][c]
  void (*gate_grad)(std::int64_t n, std::int64_t rows, std::int64_t c, const T* x, const T* dy,
                    T* dg);  ///< dg[n][c]: sum over the rows
  void (*dropout)(std::int64_t samples, std::int64_t per_sample, const std::int64_t* sample_index, double p, DropoutKey,
                  const T* x, T* y);  ///< also its own gradient; sample_index are global indices

  // Normalisation. Statistics in two passes (mean, then squared deviations). `rows` = n*h*w for images.
  void (*batch_norm_train)(std::int64_t rows, std::int64_t c, double eps, double momentum, const T* x, const T* gamma,
                           const T* beta, const T* running_mean, const T* running_var, T* y, T* mean, T* inv_std,
                           T* new_running_mean,
                           T* new_running_var);  ///< gamma, beta may be null; running variance is the unbiased one,
                                                 ///< and one row, which has none, leaves it as it was
  void (*batch_norm_eval)(std::int64_t rows, std::int64_t c, double eps, const T* x, const T* gamma, const T* beta,
                          const T* running_mean, const T* running_var, T* y);
  void (*batch_norm_grad)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* mean,
                          const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);  ///< dgamma, dbeta always written
  // Batch norm in halves, for a batch whose rows do not lie together: what the rows give, and what they get when the
  // statistics of all are known.
  void (*batch_norm_moments)(std::int64_t rows, std::int64_t c, const T* x, T* mean,
                             T* squares);  ///< squares: sum of squared distances from the mean
  void (*batch_norm_apply)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* beta, const T* mean,
                           const T* inv_std, T* y);
  void (*batch_norm_grad_sums)(std::int64_t rows, std::int64_t c, const T* x, const T* mean, const T* inv_std,
                               const T* dy, T* dgamma, T* dbeta);
  void (*batch_norm_grad_apply)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* mean,
                                const T* inv_std, const T* mean_dgamma, const T* mean_dbeta, const T* dy,
                                T* dx);  ///< means over all rows; dx may equal dy
  void (*layer_norm)(std::int64_t rows, std::int64_t len, double eps, const T* x, const T* gamma, const T* beta, T* y,
                     T* mean, T* inv_std);
  void (*layer_norm_grad)(std::int64_t rows, std::int64_t len, const T* x, const T* gamma, const T* mean,
                          const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);
  void (*group_norm)(std::int64_t n, std::int64_t hw, std::int64_t c, std::int64_t groups, double eps, const T* x,
                     const T* gamma, const T* beta, T* y, T* mean, T* inv_std);  ///< mean, inv_std [n][groups]
  void (*group_norm_grad)(std::int64_t n, std::int64_t hw, std::int64_t c, std::int64_t groups, const T* x,
                          const T* gamma, const T* mean, const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);

  // Normalisation over neighbouring channels, with a scratch of 2 (c + size) elements.
  void (*lrn)(const LrnShape&, const T* x, T* y, T* scratch);
  void (*lrn_grad)(const LrnShape&, const T* x, const T* dy, T* dx, T* scratch);

  // Pooling. Max pooling keeps the flat window index (first maximum wins; NaN wins as in PyTorch), so kh*kw <= 255.
  void (*max_pool)(const PoolShape&, const T* x, T* y, std::uint8_t* index);  ///< index may be null
  void (*relu_max_pool)(const PoolShape&, const T* x, T* y,
                        std::uint8_t* index);  ///< same bits as relu then max_pool; index 255 where relu is closed
  void (*max_pool_grad)(const PoolShape&, const std::uint8_t* index, const T* dy, T* dx);  ///< 255: no gradient flows
  void (*avg_pool)(const PoolShape&, const T* x, T* y);
  void (*avg_pool_grad)(const PoolShape&, const T* dy, T* dx, T* scratch);  ///< scratch: oh ow c elements
  void (*adaptive_avg_pool)(const PoolShape&, const T* x, T* y);  ///< uses n h w c oh ow only; windows as in PyTorch
  void (*adaptive_avg_pool_grad)(const PoolShape&, const T* dy, T* dx);
  void (*mean_axis)(const AxisShape&, const T* x, T* y);
  void (*mean_axis_grad)(const AxisShape&, const T* dy, T* dx);

  // Images of another size. Nearest: cell floor(o h / oh). Bilinear: around (o + 1/2) h / oh - 1/2 (half pixel), inside
  // the image; ascending rows and columns of the four cells. Gradients in ascending order of the outputs.
  void (*resize_nearest)(const ResizeShape&, const T* x, T* y);
  void (*resize_nearest_grad)(const ResizeShape&, const T* dy, T* dx);
  void (*resize_bilinear)(const ResizeShape&, const T* x, T* y);
  void (*resize_bilinear_grad)(const ResizeShape&, const T* dy, T* dx);

  // Data movement: `rank` <= 8, y has shape `sizes` and is dense; x is read at the given strides (elements).
  void (*permute)(std::span<const std::int64_t> sizes, std::span<const std::int64_t> x_strides, const T* x, T* y);
  void (*copy_slice)(const AxisShape& from, std::int64_t begin, std::int64_t len, const T* x,
                     T* y);  ///< y = x[:, begin:begin+len, :]
  void (*paste_slice)(const AxisShape& to, std::int64_t begin, std::int64_t len, const T* x,
                      T* y);  ///< y[:, begin:begin+len, :] = x
  void (*pad_image)(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t top,
                    std::int64_t bottom, std::int64_t left, std::int64_t right, const T* x, T* y);
  void (*crop_image)(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t top,
                     std::int64_t bottom, std::int64_t left, std::int64_t right, const T* x,
                     T* y);  ///< h, w of the uncropped x

  /// Losses (family/loss.inc.h).
  std::span<const LossKernel<T>> losses;
  T (*mean)(std::int64_t count, const T* x);              ///< ascending order
  double (*square_norm)(std::int64_t count, const T* x);  ///< sum of squares in double, ascending blocks of fixed size

  /// Updates, one an optimiser (family/update.inc.h).
  std::span<const UpdateKernel<T>> updates;

  // Probes of the machine; no step calls them.
  std::int64_t (*fma_chain)(std::int64_t rounds, T* out);  ///< out[c], c < kProbeChains: c after `rounds` times
                                                           ///< x / 2 + 1; gives the operations done (two a term)
  T (*read_sum)(std::int64_t rounds, std::int64_t count, const T* x);  ///< reads x so often; any order of the sum

  /// The activation of an operator; null if there is none.
  const ActivationKernel<T>* activation(std::string_view op) const {
    for (const ActivationKernel<T>& each : activations) {
      if (each.op == op) return &each;
    }
    return nullptr;
  }
  /// A loss; null if there is none.
  const LossKernel<T>* loss(std::string_view name) const {
    for (const LossKernel<T>& each : losses) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }
  /// The update of an optimiser; null if there is none.
  const UpdateKernel<T>* update(std::string_view optimizer) const {
    for (const UpdateKernel<T>& each : updates) {
      if (each.optimizer == optimizer) return &each;
    }
    return nullptr;
  }
};

/// The table of a level; T is float or double. `isa` must be available on this CPU.
template <class T>
const Kernels<T>& kernels(Isa isa);

/// True for the (sample, element) pairs that dropout keeps; the scalar definition every form must follow.
bool dropout_keeps(DropoutKey key, std::int64_t sample, std::int64_t element, double p);

}  // namespace lanista::kernels
