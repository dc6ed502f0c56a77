#pragma once
// Data that the host and the block of a lane exchange. The compilers of the host and NVRTC read it.
#include "lanista/exec/backends/update_rules.inc.h"

namespace lanista::device::block {

using i64 = long long;
using u32 = unsigned;
using u64 = unsigned long long;

/// Operator of a Call. Products, sums over taps, and element-wise functions have one form each, which many operators
/// share.
enum Op : int {
  kProduct,                   ///< Matrix product c = a b, with any strides, for several matrices.
  kTranspose,                 ///< Transposition of consecutive matrices.
  kTaps,                      ///< Convolution, or its data gradient.
  kTapWeights,                ///< Weight gradient of a convolution.
  kDepthwise,                 ///< Depthwise convolution, or its data gradient.
  kDepthwiseWeights,          ///< Weight gradient of a depthwise convolution.
  kColumnSum,                 ///< Sum over rows, such as a bias gradient.
  kActivation,                ///< Activation without attributes.
  kActivationGrad,            ///< Gradient of kActivation.
  kParametricActivation,      ///< Activations with attributes.
  kParametricActivationGrad,  ///< Gradient of kParametricActivation.
  kBinary,                    ///< Element-wise arithmetic of two values.
  kScale,                     ///< Product with a constant.
  kZero,                      ///< Zeros.
  kCopy,                      ///< Copy.
  kRowAdd,                    ///< Sum with one row, for every row.
  kSoftmax,                   ///< Softmax along an axis.
  kSoftmaxGrad,               ///< Gradient of kSoftmax.
  kDropout,                   ///< Dropout, or its gradient.
  kBatchNorm,                 ///< Batch normalisation with the statistics of the batch.
  kBatchNormGrad,             ///< Gradient of kBatchNorm.
  kLayerNorm,                 ///< Layer normalisation.
  kLayerNormGrad,             ///< Gradient of kLayerNorm.
  kMaxPool,                   ///< Maximum over windows.
  kMaxPoolGrad,               ///< Gradient of kMaxPool.
  kAvgPool,                   ///< Mean over windows.
  kAvgPoolGrad,               ///< Gradient of kAvgPool.
  kMeanAxis,                  ///< Mean along an axis.
  kMeanAxisGrad,              ///< Gradient of kMeanAxis.
  kPermute,                   ///< Permutation of axes.
  kCopySlice,                 ///< Copy of a slice into a value.
  kPasteSlice,                ///< Copy of a value into a slice.
  kEmbedding,                 ///< Rows of a table by token.
  kEmbeddingGrad,             ///< Gradient of the table of kEmbedding.
  kCrossEntropy,              ///< Cross-entropy of each sample, and probabilities.
  kCrossEntropyGrad,          ///< Gradient of the logits of kCrossEntropy.
  kValueLoss,                 ///< Loss of each sample against target values.
  kValueLossGrad,             ///< Gradient of the predictions of kValueLoss.
  kMeanLoss,                  ///< Loss of the step: mean over the batch.
  kClip,                      ///< Factor of gradient clipping.
  kUpdate,                    ///< Optimiser update of all parameters.
};

/// Function of kActivation and kActivationGrad: Call::n[2].
enum Activation : int {
  kRelu,
  kGelu,
  kSilu,
  kTanh,
  kSigmoid,
  kHardSwish,
  kSoftsign,
  kGeluErf,
  kSoftplus,
  kExp,
  kLog,
  kSqrt
};
#ifndef __CUDACC_RTC__
/// Names of the operators of Activation, in its order.
constexpr const char* kActivationNames[] = {"relu",     "gelu",     "silu",     "tanh", "sigmoid", "hard_swish",
                                            "softsign", "gelu_erf", "softplus", "exp",  "log",     "sqrt"};
#endif
/// Function of kParametricActivation and its gradient: Call::n[2].
enum ParametricActivation : int { kLeakyRelu, kElu, kClipped, kHardSigmoid };
/// Function of kBinary: Call::n[2].
enum Binary : int { kAdd, kSub, kMul, kDiv };
/// Losses of values: LOSS(name, Name, factor of the slope, `acc` plus the loss of one value, slope of that loss). The
/// prediction is x, the target is t, and d is x - t. Formulas are those of kernels/family/loss.inc.h.
#define BLOCK_VALUE_LOSSES(LOSS)                                     \
  LOSS(mse, Mse, 2.0, madd(d, d, acc), d)                            \
  LOSS(mae, Mae, 1.0, madd(sign_of(d), d, acc), sign_of(d))          \
  LOSS(huber, Huber, 1.0, huber_of(d, acc), clipped(d, -1.0F, 1.0F)) \
  LOSS(bce, Bce, 1.0, acc + log_loss_of(x, t), sigmoid_of(x) - t)
/// Function of kValueLoss and kValueLossGrad.
#define BLOCK_LOSS_NUMBER(name, Name, factor, term, slope) k##Name,
enum ValueLoss : int { BLOCK_VALUE_LOSSES(BLOCK_LOSS_NUMBER) };
#undef BLOCK_LOSS_NUMBER
#ifndef __CUDACC_RTC__
#define BLOCK_LOSS_NAME(name, Name, factor, term, slope) #name,
/// Names of the losses of ValueLoss, in its order.
constexpr const char* kValueLossNames[] = {BLOCK_VALUE_LOSSES(BLOCK_LOSS_NAME)};
#undef BLOCK_LOSS_NAME
#endif
/// Update rule of kUpdate: Call::n[0].
#define BLOCK_RULE_NUMBER(name, Name) k##Name,
enum Optimizer : int { DEVICE_UPDATE_RULES(BLOCK_RULE_NUMBER) };
#undef BLOCK_RULE_NUMBER

/// Transformation of each result of a call before it is stored. It replaces a later call on the result. The gradients
/// pass a result where a saved value was not clipped, else zero.
enum Epilogue : int { kNoEpilogue, kReluEpilogue, kClipEpilogue, kReluGradEpilogue, kClipGradEpilogue };

/// Most operands, sizes and attributes of a call.
constexpr int kMaxOperands = 12, kSizes = 24, kReals = 4;
constexpr int kGateOperand = 11;  ///< Index in Call::at of the saved value that an epilogue reads.
/// Values of Call::at outside of the lane's slab: features of the batch, its targets, no operand.
constexpr int kInput = -1, kTarget = -2, kNowhere = -3;

/// One instruction of a program. The meaning of the sizes and operands is stated at each operator.
struct Call {
  int op;                ///< Number of an Op.
  int needs_barrier;     ///< 1: wait until every thread has done all earlier calls.
  int at[kMaxOperands];  ///< For each operand: first word in the slab, or kInput, kTarget, kNowhere.
  int n[kSizes];         ///< Sizes, strides and flags of the operator.
  float x[kReals];       ///< Attributes; the last two are those of the epilogue.
  int after;             ///< Number of an Epilogue, applied to each result.
};

/// A range of parameters that have one learning rate in a step.
struct LrRange {
  int begin, count;    ///< Number of its first parameter, and of parameters.
  float rate, shrink;  ///< Negative learning rate with bias correction; factor of decoupled weight decay.
};

/// Inputs and hyper-parameters of one step of a lane. Pointers are addresses on the device.
struct Step {
  const void* input;            ///< Features of the batch in program layout, or tokens.
  const void* target;           ///< Labels or target values of the batch.
  const i64* samples;           ///< Sample numbers in the data set; null unless masks are sampled.
  const float* weights;         ///< Sample weights; null if all are 1.
  const double* lane_attrs;     ///< Attributes of the lane, one for each of ExecutableProperties::lane_attrs.
  const LrRange* lr_ranges;     ///< Ranges of all trained parameters.
  u64 done;                     ///< Number of earlier steps of the lane.
  double smoothing, clip_norm;  ///< Label smoothing; largest gradient norm, 0: no clipping.
  int batch, num_lr_ranges;     ///< Samples of the batch; number of lr_ranges.
  /// Hyper-parameters of the update. `root` is the square root of 1 - beta2^(done + 1).
  float decay, momentum, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, root;
  int has_weight_decay, has_momentum, nesterov, first;  ///< Flags: 1 means true; first: no earlier step.
};

/// One lane of a launch: its slab, program and steps. Pointers are addresses on the device.
struct Lane {
  float* slab;                 ///< Memory of the lane, of BlockProgram::slab_words words.
  const Call* calls;           ///< Calls of one step, in order.
  const Step* steps;           ///< Steps to run, in order.
  float* losses;               ///< Output: loss of each step.
  u64* call_cycles;            ///< Device cycles of each call in sum; null unless calls are timed.
  u64 seed;                    ///< Trial seed, for random masks.
  double flops;                ///< Approximate FLOPs of a step, to choose the number of blocks.
  int call_count, step_count;  ///< Number of calls of a step, and of steps.
};

}  // namespace lanista::device::block
