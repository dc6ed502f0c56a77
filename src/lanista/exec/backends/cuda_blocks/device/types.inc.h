#pragma once
// What the host tells the block of a lane, and what the block says back. Read by the host's compiler and by NVRTC.

namespace lanista::device::block {

using i64 = long long;
using u32 = unsigned;
using u64 = unsigned long long;

/// What a block knows how to do. OperandRounding, sums over taps, and whatever goes element by element have one form
/// each, which many operators share.
enum Op : int {
  kProduct,     ///< c = a b, any steps, a number of matrices
  kTranspose,   ///< matrices, one after the other
  kTaps,        ///< convolution forward, or its data gradient
  kTapWeights,  ///< its weight gradient
  kDepthwise,   ///< the same, a channel a group
  kDepthwiseWeights,
  kColumnSum,
  kActivation,
  kActivationGrad,
  kParametricActivation,  ///< activations that have numbers
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
  kValueLoss,  ///< losses of numbers
  kValueLossGrad,
  kMeanLoss,  ///< of the batch: the step's
  kClip,      ///< the factor of all gradients
  kUpdate,
};

enum Activation : int { kRelu, kGelu, kSilu, kTanh, kSigmoid, kHardSwish, kSoftsign };
enum ParametricActivation : int { kLeakyRelu, kElu, kClipped, kHardSigmoid };
enum Binary : int { kAdd, kSub, kMul, kDiv };
enum ValueLoss : int { kMse, kMae, kHuber, kBce };
enum Optimizer : int { kSgd, kAdam, kAdamW, kLion, kRmsprop };

/// What a call does to each of its results before it is stored: the work of the call behind it, which is gone then.
enum Epilogue : int { kNoEpilogue, kReluEpilogue, kClipEpilogue, kReluGradEpilogue, kClipGradEpilogue };

constexpr int kMaxOperands = 12, kSizes = 24, kReals = 4;
/// Places that are no words of the lane's slab.
constexpr int kGateOperand = 11;  ///< at[kGateOperand]: what a gate reads
constexpr int kInput = -1, kTarget = -2, kNowhere = -3;

/// One instruction. Which size means what is said where the operator is.
struct Call {
  int op;
  int needs_barrier;     ///< 1: until every thread has done all calls before it
  int at[kMaxOperands];  ///< words of the slab
  int n[kSizes];
  float x[kReals];  ///< the last two: of what comes after
  int after;
};

/// A run of parameters that trains at one rate.
struct LrRange {
  int begin, count;
  float rate, shrink;
};

/// What a step is given.
struct Step {
  const void* input;         ///< features in program layout, or tokens
  const void* target;        ///< labels, or numbers
  const i64* samples;        ///< null, unless masks are drawn
  const float* weights;      ///< null: 1 each
  const double* lane_attrs;  ///< the lane's own numbers
  const LrRange* lr_ranges;
  u64 done;  ///< steps before this one
  double smoothing, clip_norm;
  int batch, num_lr_ranges;
  float decay, momentum, beta1, one_minus_beta1, beta2, one_minus_beta2, eps, root;
  int has_weight_decay, has_momentum, nesterov, first;
};

struct Lane {
  float* slab;
  const Call* calls;
  const Step* steps;
  float* losses;     ///< one a step
  u64* call_cycles;  ///< what each call takes, added up; then calls do not overlap. Null: nobody asks
  u64 seed;
  double flops;  ///< operations of a step, about: how many blocks pay
  int call_count, step_count;
};

}  // namespace lanista::device::block
