#pragma once
// The interpreter: the block of a lane runs the lane's calls, step by step.
#include "lanista/exec/backends/cuda_blocks/device/dense.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/depthwise.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/elementwise.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/loss.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/moves.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/norm.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/pool.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/tap_weights.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/taps.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/update.inc.h"

namespace lanista::device::block {
namespace {

/// Runs a call. Returns the number of threads that its last pass uses, so that the next call begins after them.
BLOCK_NOINLINE_FN int run_call(const Call& call, const Frame& f, int first_thread) {
  switch (call.op) {
    case kProduct:
      return op_product(call, f, first_thread);
    case kTranspose:
      return op_transpose(call, f, first_thread);
    case kTaps:
      return op_taps(call, f, first_thread);
    case kTapWeights:
      return op_tap_weights(call, f);
    case kDepthwise:
      return op_depthwise(call, f, first_thread);
    case kDepthwiseWeights:
      return op_depthwise_weights(call, f);
    case kColumnSum:
      return op_column_sum(call, f, first_thread);
    case kActivation:
      return op_activation(call, f, first_thread);
    case kActivationGrad:
      return op_activation_grad(call, f, first_thread);
    case kParametricActivation:
      return op_parametric_activation(call, f, first_thread);
    case kParametricActivationGrad:
      return op_parametric_activation_grad(call, f, first_thread);
    case kBinary:
      return op_binary(call, f, first_thread);
    case kScale:
      return op_scale(call, f, first_thread);
    case kZero:
      return op_zero(call, f, first_thread);
    case kCopy:
      return op_copy(call, f, first_thread);
    case kRowAdd:
      return op_row_add(call, f, first_thread);
    case kSoftmax:
      return op_softmax(call, f, first_thread);
    case kSoftmaxGrad:
      return op_softmax_grad(call, f, first_thread);
    case kDropout:
      return op_dropout(call, f, first_thread);
    case kBatchNorm:
      return op_batch_norm(call, f, first_thread);
    case kBatchNormGrad:
      return op_batch_norm_grad(call, f, first_thread);
    case kLayerNorm:
      return op_layer_norm(call, f, first_thread);
    case kLayerNormGrad:
      return op_layer_norm_grad(call, f, first_thread);
    case kMaxPool:
      return op_max_pool(call, f, first_thread);
    case kMaxPoolGrad:
      return op_max_pool_grad(call, f, first_thread);
    case kAvgPool:
      return op_avg_pool(call, f, first_thread);
    case kAvgPoolGrad:
      return op_avg_pool_grad(call, f, first_thread);
    case kMeanAxis:
      return op_mean_axis(call, f, first_thread);
    case kMeanAxisGrad:
      return op_mean_axis_grad(call, f, first_thread);
    case kPermute:
      return op_permute(call, f, first_thread);
    case kCopySlice:
      return op_copy_slice(call, f, first_thread);
    case kPasteSlice:
      return op_paste_slice(call, f, first_thread);
    case kEmbedding:
      return op_embedding(call, f, first_thread);
    case kEmbeddingGrad:
      return op_embedding_grad(call, f, first_thread);
    case kCrossEntropy:
      return op_cross_entropy(call, f, first_thread);
    case kCrossEntropyGrad:
      return op_cross_entropy_grad(call, f, first_thread);
    case kValueLoss:
      return op_value_loss(call, f, first_thread);
    case kValueLossGrad:
      return op_value_loss_grad(call, f, first_thread);
    case kMeanLoss:
      return op_mean_loss(call, f, first_thread);
    case kClip:
      return op_clip(call, f, first_thread);
    default:
      return op_update(call, f, first_thread);
  }
}

BLOCK_FN void begin_step(const Lane& lane, int step, Frame& f) {
  const Step& s = lane.steps[step];
  f.slab = reals_at(lane.slab);
  f.input = reals_at(s.input);
  f.target = reals_at(s.target);
  f.step = &s;
  f.seed = lane.seed;
  f.loss = lane.losses + step;
  f.call_cycles = lane.call_cycles;
  f.batch = s.batch;
}

/// One call with a barrier and its cycles.
BLOCK_FN void timed_call(const Call& call, const Frame& f, u64& call_cycles) {
  const u64 begin = clock_now();
  run_call(call, f, 0);
  lane_barrier();
  if (is_first()) call_cycles += clock_now() - begin;
}

BLOCK_FN void run_calls(const Call* calls, int count, const Frame& f) {
  int first_thread = 0;
  for (int i = 0; i < count; ++i) {
    if (calls[i].op == kClip && !(f.step->clip_norm > 0)) continue;
    if (f.call_cycles != nullptr) {
      timed_call(calls[i], f, f.call_cycles[i]);
      continue;
    }
    if (calls[i].needs_barrier != 0) {
      lane_barrier();
      first_thread = 0;
    }
    first_thread = (first_thread + run_call(calls[i], f, first_thread)) & (kThreads - 1);
  }
}

}  // namespace
}  // namespace lanista::device::block

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(512, 1) lanista_block(const lanista::device::block::Lane* lanes) {
  using namespace lanista::device::block;
  extern __shared__ int program[];
  __shared__ Frame frame;
  const Lane& lane = lanes[static_cast<int>(blockIdx.x) / cluster_size()];
  const int words = lane.call_count * static_cast<int>(sizeof(Call) / sizeof(int));
  const int* const from = reinterpret_cast<const int*>(lane.calls);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += block_threads()) program[i] = from[i];
  for (int step = 0; step < lane.step_count; ++step) {
    lane_barrier();
    if (threadIdx.x == 0) begin_step(lane, step, frame);
    __syncthreads();
    run_calls(reinterpret_cast<const Call*>(program), lane.call_count, frame);
  }
}
#endif
