#pragma once
// The interpreter: the block of a lane goes through the lane's calls, step by step.
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

/// Runs a call; threads that it leaves to the next one behind its own.
BLOCK_FORM int run_call(const Call& call, const Frame& f, int turn) {
  switch (call.op) {
    case kProduct:
      return op_product(call, f, turn);
    case kTranspose:
      return op_transpose(call, f, turn);
    case kTaps:
      return op_taps(call, f, turn);
    case kTapWeights:
      return op_tap_weights(call, f);
    case kDepthwise:
      return op_depthwise(call, f, turn);
    case kDepthwiseWeights:
      return op_depthwise_weights(call, f);
    case kColumnSum:
      return op_column_sum(call, f, turn);
    case kActivation:
      return op_activation(call, f, turn);
    case kActivationGrad:
      return op_activation_grad(call, f, turn);
    case kWithNumbers:
      return op_with_numbers(call, f, turn);
    case kWithNumbersGrad:
      return op_with_numbers_grad(call, f, turn);
    case kBinary:
      return op_binary(call, f, turn);
    case kScale:
      return op_scale(call, f, turn);
    case kZero:
      return op_zero(call, f, turn);
    case kCopy:
      return op_copy(call, f, turn);
    case kRowAdd:
      return op_row_add(call, f, turn);
    case kSoftmax:
      return op_softmax(call, f, turn);
    case kSoftmaxGrad:
      return op_softmax_grad(call, f, turn);
    case kDropout:
      return op_dropout(call, f, turn);
    case kBatchNorm:
      return op_batch_norm(call, f, turn);
    case kBatchNormGrad:
      return op_batch_norm_grad(call, f, turn);
    case kLayerNorm:
      return op_layer_norm(call, f, turn);
    case kLayerNormGrad:
      return op_layer_norm_grad(call, f, turn);
    case kMaxPool:
      return op_max_pool(call, f, turn);
    case kMaxPoolGrad:
      return op_max_pool_grad(call, f, turn);
    case kAvgPool:
      return op_avg_pool(call, f, turn);
    case kAvgPoolGrad:
      return op_avg_pool_grad(call, f, turn);
    case kMeanAxis:
      return op_mean_axis(call, f, turn);
    case kMeanAxisGrad:
      return op_mean_axis_grad(call, f, turn);
    case kPermute:
      return op_permute(call, f, turn);
    case kCopySlice:
      return op_copy_slice(call, f, turn);
    case kPasteSlice:
      return op_paste_slice(call, f, turn);
    case kEmbedding:
      return op_embedding(call, f, turn);
    case kEmbeddingGrad:
      return op_embedding_grad(call, f, turn);
    case kCrossEntropy:
      return op_cross_entropy(call, f, turn);
    case kCrossEntropyGrad:
      return op_cross_entropy_grad(call, f, turn);
    case kErrors:
      return op_errors(call, f, turn);
    case kErrorsGrad:
      return op_errors_grad(call, f, turn);
    case kMeanLoss:
      return op_mean_loss(call, f, turn);
    case kClip:
      return op_clip(call, f, turn);
    default:
      return op_update(call, f, turn);
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
  f.clocks = lane.clocks;
  f.batch = s.batch;
}

/// A call alone, with its barrier.
BLOCK_FN void timed_call(const Call& call, const Frame& f, u64& clocks) {
  const u64 begin = clock_now();
  run_call(call, f, 0);
  team_sync();
  if (is_first()) clocks += clock_now() - begin;
}

BLOCK_FN void run_calls(const Call* calls, int count, const Frame& f) {
  int turn = 0;
  for (int i = 0; i < count; ++i) {
    if (calls[i].op == kClip && !(f.step->clip_norm > 0)) continue;
    if (f.clocks != nullptr) {
      timed_call(calls[i], f, f.clocks[i]);
      continue;
    }
    if (calls[i].waits != 0) {
      team_sync();
      turn = 0;
    }
    turn = (turn + run_call(calls[i], f, turn)) & (kThreads - 1);
  }
}

}  // namespace
}  // namespace lanista::device::block

#ifdef __CUDACC_RTC__
extern "C" __global__ void __launch_bounds__(512, 1) lanista_block(const lanista::device::block::Lane* lanes) {
  using namespace lanista::device::block;
  extern __shared__ int program[];
  __shared__ Frame frame;
  const Lane& lane = lanes[static_cast<int>(blockIdx.x) / team_size()];
  const int words = lane.call_count * static_cast<int>(sizeof(Call) / sizeof(int));
  const int* const from = reinterpret_cast<const int*>(lane.calls);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += block_threads()) program[i] = from[i];
  for (int step = 0; step < lane.step_count; ++step) {
    team_sync();
    if (threadIdx.x == 0) begin_step(lane, step, frame);
    __syncthreads();
    run_calls(reinterpret_cast<const Call*>(program), lane.call_count, frame);
  }
}
#endif
