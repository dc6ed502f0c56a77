#pragma once
// Data that the host and the block of a lane exchange. The compilers of the host and NVRTC read it.

namespace lanista::device::block {

using i64 = long long;
using u32 = unsigned;
using u64 = unsigned long long;

/// Operators of a block. Products, sums over taps, and element-wise functions have one form each, which many operators
/// share.
enum Op : int {
  kProduct,     ///< c = a b, any strides, several matrices
  kTranspose,   ///< transposition of consecutive matrices
  kTaps,        ///< convolution, or its data gradient
  kTapWeights,  ///< weight gradient of a convolution
  kDepthwise,   ///< depthwise convolution, or its data gradient
  kDepthwiseWeights,
  kColumnSum,
  kActivation,
  kActivationGrad,
  kParametricActivation,  ///< activations with attributes
  kParametricActivationGrad,
  kBinary,
  kScale,
  kZero,
  kCopy,
  kRowAdd,
  kSoftmax,
  kSoftmaxGrad,
  kDropout,
  kBatchNorm,
  kBatchNormGrad,
  kLayerNorm,
  kLayerNormGrad,
  kMaxPool,
  kMaxPoolGrad,
  kAvgPool,
  kAvgPoolGrad,
  kMeanAxis,
  kMeanAxisGrad,
  kPermute,
  kCopySlice,
  kPasteSlice,
  kEmbedding,
  kEmbeddingGrad,
  kCrossEntropy,
  kCrossEntropyGrad,
  kValueLoss,  ///< losses of values
  kValueLossGrad,
  kMeanLoss,  ///< loss of the step: mean over the batch
  kClip,      ///< factor of gradient clipping
  kUpdate,
};

enum Activation : int { kRelu, kGelu, kSilu, kTanh, kSigmoid, kHardSwish, kSoftsign };
enum ParametricActivation : int { kLeakyRelu, kElu, kClipped, kHardSigmoid };
enum Binary : int { kAdd, kSub, kMul, kDiv };
enum ValueLoss : int { kMse, kMae, kHuber, kBce };
enum Optimizer : int { kSgd, kAdam, kAdamW, kLion, kRmsprop };

/// Transformation of each result before it is stored. It replaces a later call.
enum Epilogue : int { kNoEpilogue, kReluEpilogue, kClipEpilogue, kReluGradEpilogue, kClipGradEpilogue };

constexpr int kMaxOperands = 12, kSizes = 24, kReals = 4;
/// Operands outside of the lane's slab.
constexpr int kGateOperand = 11;  ///< at[kGateOperand]: operand of a gate
constexpr int kInput = -1, kTarget = -2, kNowhere = -3;

/// One instruction. The meaning of the sizes is stated at each operator.
struct Call {
  int op;
  int needs_barrier;     ///< 1: wait until every thread has done all earlier calls
  int at[kMaxOperands];  ///< words of the slab
  int n[kSizes];
  float x[kReals];  ///< attributes; the last two are those of the epilogue
  int after;
};

/// A range of parameters with one learning rate.
struct LrRange {
  int begin, count;
  float rate, shrink;
};

/// Inputs of a step.
struct Step {
  const void* input;         ///< features in program layout, or tokens
  const void* target;        ///< labels or values
  const i64* samples;        ///< null unless masks are sampled
  const float* weights;      ///< null if all are 1
  const double* lane_attrs;  ///< lane attributes
  const LrRange* lr_ranges;
  u64 done;  ///< number of earlier steps
  double smoothing, clip_norm;
  int batch, num_lr_ranges;
  float decay, momentum, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, root;
  int has_weight_decay, has_momentum, nesterov, first;
};

struct Lane {
  float* slab;
  const Call* calls;
  const Step* steps;
  float* losses;     ///< one per step
  u64* call_cycles;  ///< cycles per call so far; calls then do not overlap. Null unless timed
  u64 seed;
  double flops;  ///< approximate operations of a step, to choose the number of blocks
  int call_count, step_count;
};

}  // namespace lanista::device::block
