#pragma once
// The whole family of a level, and its table for one element type. Included by the two source files of each level. They
// have set LANISTA_KERNEL_LEVEL, LANISTA_KERNEL_ELEMENT and LANISTA_KERNEL_TABLE and included the vector types.

#include "lanista/exec/kernels/family/activation.inc.h"
#include "lanista/exec/kernels/family/channel.inc.h"
#include "lanista/exec/kernels/family/conv.inc.h"
#include "lanista/exec/kernels/family/conv_axis.inc.h"
#include "lanista/exec/kernels/family/conv_grad_w.inc.h"
#include "lanista/exec/kernels/family/dense.inc.h"
#include "lanista/exec/kernels/family/dropout.inc.h"
#include "lanista/exec/kernels/family/elementary.inc.h"
#include "lanista/exec/kernels/family/group_norm.inc.h"
#include "lanista/exec/kernels/family/loss.inc.h"
#include "lanista/exec/kernels/family/move.inc.h"
#include "lanista/exec/kernels/family/norm.inc.h"
#include "lanista/exec/kernels/family/piecewise.inc.h"
#include "lanista/exec/kernels/family/pool.inc.h"
#include "lanista/exec/kernels/family/probe.inc.h"
#include "lanista/exec/kernels/family/resize.inc.h"
#include "lanista/exec/kernels/family/tile.inc.h"
#include "lanista/exec/kernels/family/update.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/kernels/levels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T>
constexpr Kernels<T> table() {
  return {
      .linear = linear<T>,
      .linear_relu = linear_relu<T>,
      .linear_grad_x = linear_grad_x<T>,
      .linear_grad_w = linear_grad_w<T>,
      .conv2d = conv2d<T>,
      .conv2d_relu = conv2d_relu<T>,
      .conv2d_grad_x = conv2d_grad_x<T>,
      .conv2d_grad_w = conv2d_grad_w<T>,
      .conv2d_scratch = conv2d_scratch,
      .matmul = matmul<T>,
      .column_sum = column_sum<T>,
      .activations = kActivations<T>,
      .leaky_relu = leaky_relu<T>,
      .leaky_relu_grad = leaky_relu_grad<T>,
      .elu = elu<T>,
      .elu_grad = elu_grad<T>,
      .clip = clip<T>,
      .clip_grad = clip_grad<T>,
      .hard_sigmoid = hard_sigmoid<T>,
      .hard_sigmoid_grad = hard_sigmoid_grad<T>,
      .softmax = softmax<T>,
      .softmax_grad = softmax_grad<T>,
      .add = add<T>,
      .sub = sub<T>,
      .mul = mul<T>,
      .div = div<T>,
      .scale = scale<T>,
      .row_add = row_add<T>,
      .gate = gate<T>,
      .gate_grad = gate_grad<T>,
      .dropout = dropout<T>,
      .batch_norm_train = batch_norm_train<T>,
      .batch_norm_eval = batch_norm_eval<T>,
      .batch_norm_grad = batch_norm_grad<T>,
      .batch_norm_moments = batch_norm_moments<T>,
      .batch_norm_apply = batch_norm_apply<T>,
      .batch_norm_grad_sums = batch_norm_grad_sums<T>,
      .batch_norm_grad_apply = batch_norm_grad_apply<T>,
      .layer_norm = layer_norm<T>,
      .layer_norm_grad = layer_norm_grad<T>,
      .group_norm = group_norm<T>,
      .group_norm_grad = group_norm_grad<T>,
      .lrn = lrn<T>,
      .lrn_grad = lrn_grad<T>,
      .max_pool = max_pool<T>,
      .relu_max_pool = relu_max_pool<T>,
      .max_pool_grad = max_pool_grad<T>,
      .avg_pool = avg_pool<T>,
      .avg_pool_grad = avg_pool_grad<T>,
      .adaptive_avg_pool = adaptive_avg_pool<T>,
      .adaptive_avg_pool_grad = adaptive_avg_pool_grad<T>,
      .mean_axis = mean_axis<T>,
      .mean_axis_grad = mean_axis_grad<T>,
      .resize_nearest = resize_nearest<T>,
      .resize_nearest_grad = resize_nearest_grad<T>,
      .resize_bilinear = resize_bilinear<T>,
      .resize_bilinear_grad = resize_bilinear_grad<T>,
      .permute = permute<T>,
      .copy_slice = copy_slice<T>,
      .paste_slice = paste_slice<T>,
      .pad_image = pad_image<T>,
      .crop_image = crop_image<T>,
      .losses = kLosses<T>,
      .mean = mean<T>,
      .square_norm = square_norm<T>,
      .updates = kUpdates<T>,
      .fma_chain = fma_chain<T>,
      .read_sum = read_sum<T>,
  };
}

}  // namespace

constinit const Kernels<LANISTA_KERNEL_ELEMENT> LANISTA_KERNEL_TABLE = table<LANISTA_KERNEL_ELEMENT>();

}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
