#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::kernels {

// Memory layouts. Images are [n][h][w][c] ("NHWC"); everything else is row-major as written. Linear weights are
// [in][out]. Convolution weights are [kh][kw][ci / groups][co], where the output channels of the groups follow one
// another in co. No padding and no alignment are required. Every kernel accepts any size from 1, including odd ones.
// A kernel allocates nothing and cannot fail. All kernels are thread-safe.
//
// Numbers. A sum of products of a linear layer, convolution or matmul starts at zero. It adds one fused multiply-add
// per term in the stated ascending order, and the bias last. Other sums have a fixed order too, mostly with partial
// sums. The order of a sum may depend on shapes, never on pointers, lanes or threads. Results are the same bytes at
// every vector width with FMA. The portable level has no FMA and is a numeric class of its own.

/// Instruction set level of the kernels. Each level is one translation unit.
enum class Isa {
  kPortable,  ///< SSE2 without fused multiply-add.
  kAvx2,      ///< AVX2 and FMA.
  kAvx512,    ///< AVX-512 F, VL, DQ and BW.
};

/// Name of a level: "portable", "avx2" or "avx512".
std::string_view isa_name(Isa isa);

/// Bytes of a vector register of a level: 16, 32 or 64.
std::int64_t vector_bytes(Isa isa);

/// Fastest level that this CPU supports, or the level that the environment variable LANISTA_ISA names.
///
/// A name that is unknown, or that this CPU does not support, is ignored here; `isa_override_error` reports it.
Isa best_isa();

/// All levels that this CPU supports, from the slowest to the fastest.
std::vector<Isa> available_isas();

/// Reason, as a text for people, why LANISTA_ISA was ignored; empty if it is unset or followed.
std::string isa_override_error();

/// Sets flush-to-zero and denormals-are-zero for the calling thread: denormal results and inputs count as zero.
///
/// Every worker thread calls it once, because the mode changes results.
void set_flush_to_zero();

/// Sizes of a two-dimensional convolution.
struct ConvShape {
  std::int64_t n, h, w, ci;  ///< Input [n][h][w][ci].
  std::int64_t oh, ow, co;   ///< Output [n][oh][ow][co].

  std::int64_t kh, kw;                  ///< Rows and columns of the window.
  std::int64_t stride_h, stride_w;      ///< Input cells between two neighbouring windows.
  std::int64_t pad_h, pad_w;            ///< Cells of padding above and on the left.
  std::int64_t dilation_h, dilation_w;  ///< Input cells between two neighbouring taps of a window.
  std::int64_t groups;                  ///< Channel groups; each divides ci and co.
};

/// Sizes of a two-dimensional pool (max or average).
struct PoolShape {
  std::int64_t n, h, w, c;  ///< Input [n][h][w][c].
  std::int64_t oh, ow;      ///< Output [n][oh][ow][c].

  std::int64_t kh, kw;              ///< Rows and columns of the window.
  std::int64_t stride_h, stride_w;  ///< Input cells between two neighbouring windows.

  std::int64_t pad_h, pad_w;           ///< Cells of padding above and on the left.
  std::int64_t pad_bottom, pad_right;  ///< Cells of padding below and on the right; read by average pooling only.
  /// Average pooling: true divides by the window's cells in image and padding, false by those in the image only.
  bool count_include_pad;
};

/// Sizes of an image resize.
struct ResizeShape {
  std::int64_t n, h, w, c;  ///< Input [n][h][w][c].
  std::int64_t oh, ow;      ///< Output [n][oh][ow][c].
};

/// Sizes and constants of local response normalisation (LRN) over neighbouring channels.
///
/// y_c = x_c (bias + alpha / size * sum of squares) ^ -beta. The sum covers the `size` channels from
/// c - (size - 1) / 2 on; channels outside [0, c) count as zero.
struct LrnShape {
  std::int64_t rows;         ///< Positions, each with its own channels: n * h * w for images.
  std::int64_t c;            ///< Channels.
  std::int64_t size;         ///< Channels of one window.
  double alpha, beta, bias;  ///< Constants of the formula above.
};

/// A tensor viewed along one axis: [outer][len][inner].
struct AxisShape {
  std::int64_t outer;  ///< Product of the sizes before the axis.
  std::int64_t len;    ///< Size of the axis.
  std::int64_t inner;  ///< Product of the sizes behind the axis.
};

/// Sizes of a batched matrix product c[m][n] = op(a) op(b).
struct MatmulShape {
  std::int64_t batch;    ///< Number of independent products.
  std::int64_t m, n, k;  ///< A is [m][k], b is [k][n]; sums run over ascending k.
  bool transpose_a;      ///< A is stored as [k][m].
  bool transpose_b;      ///< B is stored as [n][k].
};

/// Key of a dropout mask. Whether an element is kept is a function of the key, the row number of the sample, the
/// element and the dropout probability only.
struct DropoutKey {
  std::uint64_t trial_seed;  ///< Seed of the trial.
  std::uint64_t step;        ///< Number of the training step, from 0.
  std::uint64_t node;        ///< Id of the dropout node in the graph.
};

/// An activation without parameters, and its gradient.
///
/// Both functions work element by element over `count` elements. y may equal x; dx may equal `saved` or dy.
template <class T>
struct ActivationKernel {
  std::string_view op;       ///< Name of the operator; its gradient is named op + "_grad".
  bool from_output = false;  ///< True: the gradient reads the output y; false: it reads the input x.
  void (*forward)(std::int64_t count, const T* x, T* y) = nullptr;  ///< Y = f(x).
  /// dx = dy f'(x), where `saved` is the output y if `from_output` is true, else the input x.
  void (*gradient)(std::int64_t count, const T* saved, const T* dy, T* dx) = nullptr;
};

/// A loss per sample, and the gradient of the mean loss of a batch.
///
/// A gradient call covers `rows` samples of a batch of `total` samples; gradients are divided by `total`. A loss has
/// either the two functions for class labels or the two for real targets; the other two pointers are null.
template <class T>
struct LossKernel {
  std::string_view name;  ///< Name of the loss in recipes, as in autodiff::losses().
  /// Loss [rows] of class labels `target` [rows] and `logits` [rows, classes].
  ///
  /// `saved` [rows, classes] is an output that `grad_of_classes` reads. `smoothing` is the label smoothing in [0, 1).
  void (*of_classes)(std::int64_t rows, std::int64_t classes, double smoothing, const T* logits,
                     const std::int32_t* target, T* loss, T* saved) = nullptr;
  /// Gradient `dlogits` [rows, classes] of the sum of these rows' losses divided by `total`.
  void (*grad_of_classes)(std::int64_t rows, std::int64_t total, std::int64_t classes, double smoothing, const T* saved,
                          const std::int32_t* target, T* dlogits) = nullptr;
  /// Loss [rows] of real targets: the mean over the `len` values of a sample. `prediction` and `target` are [rows,
  /// len]. For "bce" predictions are logits.
  void (*of_values)(std::int64_t rows, std::int64_t len, const T* prediction, const T* target, T* loss) = nullptr;
  /// Gradient `dprediction` [rows, len] of the sum of these rows' losses divided by `total`.
  void (*grad_of_values)(std::int64_t rows, std::int64_t total, std::int64_t len, const T* prediction, const T* target,
                         T* dprediction) = nullptr;
};

/// Hyper-parameters of one optimiser update. A rule reads only those that it has.
struct UpdateHyper {
  double lr = 0;        ///< Learning rate.
  double momentum = 0;  ///< Factor of the momentum buffer; 0: no momentum.
  /// Factor of the weight decay. Rules with decoupled decay multiply parameters by 1 - lr * weight_decay; the others
  /// add weight_decay times the parameter to the gradient.
  double weight_decay = 0;

  double beta1 = 0;       ///< Decay of the first moment.
  double beta2 = 0;       ///< Decay of the second moment; or of the only one.
  double eps = 0;         ///< Constant added to the denominator.
  double grad_scale = 1;  ///< Factor applied to the gradient first, for gradient clipping; 1: none.
  bool nesterov = false;  ///< True: Nesterov momentum.
  std::int64_t step = 1;  ///< Number of the step that this update makes, from 1.
};

/// Update rule of one optimiser.
template <class T>
struct UpdateKernel {
  std::string_view optimizer;  ///< Name of the optimiser in recipes.
  std::size_t slots = 0;       ///< Number of state arrays per parameter array; all zeros before the first step.
  /// Updates `param` and each array of `slots` in place by `grad`. All arrays have `count` elements, and elements are
  /// independent. If `momentum` is 0, a momentum slot stays as it is.
  void (*run)(std::int64_t count, const UpdateHyper&, const T* grad, T* param, T* const* slots) = nullptr;
};

/// Number of independent multiply-add chains of `Kernels::fma_chain`.
inline constexpr int kProbeChains = 12;

/// Table of pointers to all kernels of one instruction set level for one element type T (float or double).
///
/// Pointers are never null. Arrays may not overlap unless a comment allows it. A gradient kernel overwrites its
/// outputs; it does not add to them. In a name, `_grad` is the gradient with respect to x if the comment names no other
/// input, `_grad_x` to the input, `_grad_w` to the weights.
template <class T>
struct Kernels {
  /// Linear layer: y[rows][out] = x[rows][in] w[in][out] + bias[out], summed over ascending `in`. `bias` may be null.
  void (*linear)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, const T* bias, T* y);
  /// Linear layer and ReLU in one pass: y = max(x w + bias, 0), with the bits of `linear` then relu. `bias` may be
  /// null.
  void (*linear_relu)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* w, const T* bias,
                      T* y);
  /// Input gradient of a linear layer: dx[rows][in] = dy[rows][out] w[in][out]^T, summed over ascending `out`.
  void (*linear_grad_x)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* dy, const T* w, T* dx);
  /// Weight gradient of a linear layer: dw[in][out] = x[rows][in]^T dy[rows][out], summed over ascending rows.
  void (*linear_grad_w)(std::int64_t rows, std::int64_t in, std::int64_t out, const T* x, const T* dy, T* dw);
  /// Convolution of x with weights w, summed over ascending kh, kw and ci, plus `bias` [co], which may be null.
  /// `scratch` has `conv2d_scratch` elements.
  void (*conv2d)(const ConvShape&, const T* x, const T* w, const T* bias, T* y, T* scratch);
  /// Convolution and ReLU in one pass, with the bits of `conv2d` then relu. Arguments are those of `conv2d`.
  void (*conv2d_relu)(const ConvShape&, const T* x, const T* w, const T* bias, T* y, T* scratch);
  /// Input gradient of a convolution: dx [n][h][w][ci] from dy [n][oh][ow][co], summed over ascending kh, kw and co.
  /// `scratch` has `conv2d_scratch` elements.
  void (*conv2d_grad_x)(const ConvShape&, const T* dy, const T* w, T* dx, T* scratch);
  /// Weight gradient of a convolution: dw has the layout of w, summed over ascending n, oh and ow. `scratch` has
  /// `conv2d_scratch` elements.
  void (*conv2d_grad_w)(const ConvShape&, const T* x, const T* dy, T* dw, T* scratch);
  /// Number of scratch elements that any of the four convolution kernels needs for this shape.
  std::int64_t (*conv2d_scratch)(const ConvShape&);
  /// Batched matrix product: c[m][n] = op(a) op(b) for each of the `batch` products, with sums over ascending k.
  void (*matmul)(const MatmulShape&, const T* a, const T* b, T* c);
  /// Sum of each column, for bias gradients: sum[columns] of x[rows][columns], a plain sum over ascending rows.
  void (*column_sum)(std::int64_t rows, std::int64_t columns, const T* x, T* sum);

  /// Activations without parameters; activation() finds one by name.
  std::span<const ActivationKernel<T>> activations;
  /// y = x above zero, else alpha x.
  void (*leaky_relu)(std::int64_t count, T alpha, const T* x, T* y);
  /// Gradient of `leaky_relu` from the saved input x: dy above zero, else alpha dy. dx may equal dy.
  void (*leaky_relu_grad)(std::int64_t count, T alpha, const T* x, const T* dy, T* dx);
  /// Exponential linear unit: y = x above zero, else alpha expm1(x).
  void (*elu)(std::int64_t count, T alpha, const T* x, T* y);
  /// Gradient of `elu` from the saved output y. dx may equal dy.
  void (*elu_grad)(std::int64_t count, T alpha, const T* y, const T* dy, T* dx);
  /// y = x limited to [low, high].
  void (*clip)(std::int64_t count, T low, T high, const T* x, T* y);
  /// Gradient of `clip` from the saved output y: dy strictly between the limits, else zero. dx may equal dy.
  void (*clip_grad)(std::int64_t count, T low, T high, const T* y, const T* dy, T* dx);
  /// y = (alpha x + beta) limited to [0, 1].
  void (*hard_sigmoid)(std::int64_t count, T alpha, T beta, const T* x, T* y);
  /// Gradient of `hard_sigmoid` from the saved output y: alpha dy where 0 < y < 1, else zero. dx may equal dy.
  void (*hard_sigmoid_grad)(std::int64_t count, T alpha, const T* y, const T* dy, T* dx);
  /// Softmax along the axis: each slice of y has the sum 1. Minus infinity gives exactly 0; a slice of nothing else
  /// gives NaN, as in PyTorch.
  void (*softmax)(const AxisShape&, const T* x, T* y);
  /// Gradient of `softmax` from the saved output y.
  void (*softmax_grad)(const AxisShape&, const T* y, const T* dy, T* dx);

  /// y = a + b. y may equal a or b.
  void (*add)(std::int64_t count, const T* a, const T* b, T* y);
  /// y = a - b, element by element.
  void (*sub)(std::int64_t count, const T* a, const T* b, T* y);
  /// y = a b, element by element.
  void (*mul)(std::int64_t count, const T* a, const T* b, T* y);
  /// y = a / b, element by element.
  void (*div)(std::int64_t count, const T* a, const T* b, T* y);
  /// y = factor x. y may equal x.
  void (*scale)(std::int64_t count, T factor, const T* x, T* y);
  /// y[r][i] = x[r][i] + row[i], for rows x columns elements. y may equal x.
  void (*row_add)(std::int64_t rows, std::int64_t columns, const T* x, const T* row, T* y);
  /// Channel gate: y[n][r][c] = x[n][r][c] g[n][c], for `rows` positions a sample.
  void (*gate)(std::int64_t n, std::int64_t rows, std::int64_t c, const T* x, const T* g, T* y);
  /// Gradient of `gate` with respect to g: dg[n][c] is the sum of x dy over the rows.
  void (*gate_grad)(std::int64_t n, std::int64_t rows, std::int64_t c, const T* x, const T* dy, T* dg);
  /// Dropout with probability p: kept elements of x are multiplied by 1 / (1 - p), the others become zero.
  ///
  /// `sample_index` [samples] holds the row numbers of the samples in the data set, and each sample has `per_sample`
  /// elements. The gradient is the same kernel applied to dy. dropout_keeps() defines the mask.
  void (*dropout)(std::int64_t samples, std::int64_t per_sample, const std::int64_t* sample_index, double p, DropoutKey,
                  const T* x, T* y);

  /// Batch normalisation of x[rows][c] in training; `rows` is n * h * w for images.
  ///
  /// `gamma` and `beta` [c] may be null for 1 and 0. `mean` and `inv_std` [c] are outputs that the gradient reads. New
  /// running statistics are (1 - momentum) old + momentum batch; they are not computed where an output is null. The
  /// running variance uses the unbiased variance of the batch. With one row there is none, and the running variance
  /// keeps its value.
  void (*batch_norm_train)(std::int64_t rows, std::int64_t c, double eps, double momentum, const T* x, const T* gamma,
                           const T* beta, const T* running_mean, const T* running_var, T* y, T* mean, T* inv_std,
                           T* new_running_mean, T* new_running_var);
  /// Batch normalisation in inference: y is normalised with the running statistics. `gamma` and `beta` may be null.
  void (*batch_norm_eval)(std::int64_t rows, std::int64_t c, double eps, const T* x, const T* gamma, const T* beta,
                          const T* running_mean, const T* running_var, T* y);
  /// Gradients of `batch_norm_train` from its saved `mean` and `inv_std`. `gamma` may be null for 1; `dgamma` and
  /// `dbeta` [c] are written also then.
  void (*batch_norm_grad)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* mean,
                          const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);
  /// First half of a batch norm over a batch in parts: the statistics of one part.
  ///
  /// `mean` [c] is the mean of the part, `squares` [c] the sum of squared distances from that mean. The caller combines
  /// parts.
  void (*batch_norm_moments)(std::int64_t rows, std::int64_t c, const T* x, T* mean, T* squares);
  /// Second half of a split batch norm: normalises one part with `mean` and `inv_std` [c] of the whole batch. `gamma`
  /// and `beta` may be null for 1 and 0.
  void (*batch_norm_apply)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* beta, const T* mean,
                           const T* inv_std, T* y);
  /// First half of the gradient of a split batch norm: the sums of one part for dgamma and dbeta.
  void (*batch_norm_grad_sums)(std::int64_t rows, std::int64_t c, const T* x, const T* mean, const T* inv_std,
                               const T* dy, T* dgamma, T* dbeta);
  /// Second half of the gradient of a split batch norm: dx of one part.
  ///
  /// `mean_dgamma` and `mean_dbeta` [c] are the sums of all parts divided by the rows of the batch. `gamma` may be null
  /// for 1. dx may equal dy.
  void (*batch_norm_grad_apply)(std::int64_t rows, std::int64_t c, const T* x, const T* gamma, const T* mean,
                                const T* inv_std, const T* mean_dgamma, const T* mean_dbeta, const T* dy, T* dx);
  /// Layer normalisation of each row of x[rows][len]. `gamma` and `beta` [len] may be null. `mean` and `inv_std` [rows]
  /// are outputs that the gradient reads.
  void (*layer_norm)(std::int64_t rows, std::int64_t len, double eps, const T* x, const T* gamma, const T* beta, T* y,
                     T* mean, T* inv_std);
  /// Gradients of `layer_norm`. `gamma` may be null for 1; `dgamma` and `dbeta` [len] are written also then.
  void (*layer_norm_grad)(std::int64_t rows, std::int64_t len, const T* x, const T* gamma, const T* mean,
                          const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);
  /// Group normalisation of x[n][hw][c] over each sample and group of channels. `gamma` and `beta` [c] may be null.
  /// `mean` and `inv_std` [n][groups] are outputs that the gradient reads.
  void (*group_norm)(std::int64_t n, std::int64_t hw, std::int64_t c, std::int64_t groups, double eps, const T* x,
                     const T* gamma, const T* beta, T* y, T* mean, T* inv_std);
  /// Gradients of `group_norm`. `gamma` may be null for 1; `dgamma` and `dbeta` [c] are written also then.
  void (*group_norm_grad)(std::int64_t n, std::int64_t hw, std::int64_t c, std::int64_t groups, const T* x,
                          const T* gamma, const T* mean, const T* inv_std, const T* dy, T* dx, T* dgamma, T* dbeta);

  /// Local response normalisation over neighbouring channels (LrnShape); `scratch` has 2 (c + size) elements.
  void (*lrn)(const LrnShape&, const T* x, T* y, T* scratch);
  /// Gradient of `lrn`; `scratch` has 2 (c + size) elements.
  void (*lrn_grad)(const LrnShape&, const T* x, const T* dy, T* dx, T* scratch);

  /// Max pooling. `index` receives the cell of each maximum in its window, row * kw + column. It may be null. A window
  /// outside the image gives index 255 and minus infinity.
  ///
  /// The first maximum wins, and NaN wins over every number, as in PyTorch. kh * kw must be at most 255.
  void (*max_pool)(const PoolShape&, const T* x, T* y, std::uint8_t* index);
  /// ReLU and max pooling in one pass, with the bits of relu then `max_pool`. `index` is 255 where relu gives zero.
  void (*relu_max_pool)(const PoolShape&, const T* x, T* y, std::uint8_t* index);
  /// Gradient of `max_pool` and `relu_max_pool`. Index 255 passes no gradient.
  void (*max_pool_grad)(const PoolShape&, const std::uint8_t* index, const T* dy, T* dx);
  /// Average pooling: y is the sum of a window's cells in the image, divided as `count_include_pad` states.
  void (*avg_pool)(const PoolShape&, const T* x, T* y);
  /// Gradient of `avg_pool`; `scratch` has oh * ow * c elements.
  void (*avg_pool_grad)(const PoolShape&, const T* dy, T* dx, T* scratch);
  /// Adaptive average pooling with the windows of PyTorch. It reads only n, h, w, c, oh and ow of the shape.
  void (*adaptive_avg_pool)(const PoolShape&, const T* x, T* y);
  /// Gradient of `adaptive_avg_pool`.
  void (*adaptive_avg_pool_grad)(const PoolShape&, const T* dy, T* dx);
  /// Mean along the axis: [outer][len][inner] to [outer][inner].
  void (*mean_axis)(const AxisShape&, const T* x, T* y);
  /// Gradient of `mean_axis`.
  void (*mean_axis_grad)(const AxisShape&, const T* dy, T* dx);

  /// Nearest-neighbour resize: output row o reads input row floor(o h / oh); columns likewise.
  void (*resize_nearest)(const ResizeShape&, const T* x, T* y);
  /// Gradient of `resize_nearest`, summed in ascending order of the outputs.
  void (*resize_nearest_grad)(const ResizeShape&, const T* dy, T* dx);
  /// Bilinear resize with half-pixel centres: output o lies at input (o + 1/2) h / oh - 1/2, limited to the image.
  void (*resize_bilinear)(const ResizeShape&, const T* x, T* y);
  /// Gradient of `resize_bilinear`, summed in ascending order of the outputs.
  void (*resize_bilinear_grad)(const ResizeShape&, const T* dy, T* dx);

  /// Strided copy: y is dense with shape `sizes`, x is read at `x_strides` (in elements). The rank is at most 8.
  void (*permute)(std::span<const std::int64_t> sizes, std::span<const std::int64_t> x_strides, const T* x, T* y);
  /// y = x[:, begin : begin + len, :], where `from` is the shape of x.
  void (*copy_slice)(const AxisShape& from, std::int64_t begin, std::int64_t len, const T* x, T* y);
  /// y[:, begin : begin + len, :] = x, where `to` is the shape of y. The rest of y stays unchanged.
  void (*paste_slice)(const AxisShape& to, std::int64_t begin, std::int64_t len, const T* x, T* y);
  /// Pads images x[n][h][w][c] with rows and columns of zeros at the four edges; y is [n][top + h + bottom][left + w +
  /// right][c].
  void (*pad_image)(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t top,
                    std::int64_t bottom, std::int64_t left, std::int64_t right, const T* x, T* y);
  /// Crops images x[n][h][w][c]: removes rows and columns at the four edges. h and w are those of x; y is smaller by
  /// the four numbers.
  void (*crop_image)(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t top,
                     std::int64_t bottom, std::int64_t left, std::int64_t right, const T* x, T* y);

  /// Losses; loss() finds one by name.
  std::span<const LossKernel<T>> losses;
  /// Mean of `count` elements, summed in ascending order.
  T (*mean)(std::int64_t count, const T* x);
  /// Sum of squares in double, in ascending blocks of 1024 elements.
  double (*square_norm)(std::int64_t count, const T* x);

  /// Update rules, one per optimiser; update() finds one by name.
  std::span<const UpdateKernel<T>> updates;

  /// Measures arithmetic speed: runs `kProbeChains` chains of x -> x / 2 + 1 and returns the number of operations.
  ///
  /// Chain c starts at c, makes `rounds` iterations, and leaves its value in out[c]. One iteration counts as two
  /// operations per vector lane. Training steps do not call it.
  std::int64_t (*fma_chain)(std::int64_t rounds, T* out);
  /// Measures read bandwidth: reads x `rounds` times and returns the sum of all that it read, in no fixed order.
  T (*read_sum)(std::int64_t rounds, std::int64_t count, const T* x);

  /// Activation of an operator by name; null if there is none. Valid until the process ends, as all tables.
  const ActivationKernel<T>* activation(std::string_view op) const {
    for (const ActivationKernel<T>& each : activations) {
      if (each.op == op) return &each;
    }
    return nullptr;
  }
  /// Loss by its name in recipes; null if there is none.
  const LossKernel<T>* loss(std::string_view name) const {
    for (const LossKernel<T>& each : losses) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }
  /// Update rule of an optimiser by its name in recipes; null if there is none.
  const UpdateKernel<T>* update(std::string_view optimizer) const {
    for (const UpdateKernel<T>& each : updates) {
      if (each.optimizer == optimizer) return &each;
    }
    return nullptr;
  }
};

/// Kernels of one level, valid until the process ends; T is float or double. The CPU must support `isa`
/// (available_isas).
template <class T>
const Kernels<T>& kernels(Isa isa);

/// True if dropout with probability `p` keeps element `element` of the sample with row number `sample`.
///
/// This scalar function defines the mask. Every backend gives the same mask.
bool dropout_keeps(DropoutKey key, std::int64_t sample, std::int64_t element, double p);

}  // namespace lanista::kernels
