#pragma once
// Transposes, means along an axis, copies in another order, slices, embeddings.
#include "lanista/exec/backends/cuda_blocks/device/elementwise.inc.h"

namespace lanista::device::block {
namespace {

/// The four rows and four columns of an item. A warp has 8 times 4 items if possible, so that it reads and writes whole
/// cache lines.
struct Corner {
  int row, column;
};
BLOCK_FN Corner corner_of(int item, int rows, int columns) {
  if (rows % 4 != 0 || columns % 8 != 0) return {4 * (item / columns), 4 * (item % columns)};
  const int lane = item % 32, tile = item / 32, across = columns / 8;
  return {4 * (tile / across * 4 + lane / 8), 4 * (tile % across * 8 + lane % 8)};
}

/// n: matrices, rows, columns. at: x, y.
BLOCK_OP int op_transpose(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int rows = call.n[1], columns = call.n[2], size = rows * columns, all = call.n[0] * size;
  if (rows % 4 == 0 && columns % 4 == 0 && whole(x) && whole(y)) {
    const int items = all / 16, create_private = size / 16;
    PHASE(t) {
      BLOCK_UNROLL_BY(1)
      for (int i = t; i < items; i += kThreads) {
        const Corner at = corner_of(i % create_private, rows / 4, columns / 4);
        const int matrix = i / create_private * size;
        Four from[4];
        BLOCK_UNROLL(4)
        for (int r = 0; r < 4; ++r) from[r] = load4(x, matrix + (at.row + r) * columns + at.column);
        BLOCK_UNROLL(4)
        for (int j = 0; j < 4; ++j) {
          const Four to = {{from[0].v[j], from[1].v[j], from[2].v[j], from[3].v[j]}};
          store4(y, matrix + (at.column + j) * rows + at.row, to);
        }
      }
    }
    return used(items);
  }
  // Neighbouring threads write neighbours and read few rows.
  return each(all, y, first_thread, [&](int i) {
    const int row = i % rows, rest = i / rows;
    return x[(rest / columns * rows + row) * columns + rest % columns];
  });
}

/// n: outer per sample, len, inner. at: x, y.
BLOCK_OP int op_mean_axis(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int outer = call.n[0] * f.batch, len = call.n[1], inner = call.n[2], items = outer * inner;
  const float count = static_cast<float>(len);
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int start = i / inner * len * inner + i % inner;
      float sum = 0.0F;
      if (inner == 1) {
        sum = tree_sum(len, [&](int l, float acc) { return acc + x[start + l]; });
      } else {
        BLOCK_UNROLL_BY(16)
        for (int l = 0; l < len; ++l) sum += x[start + l * inner];
      }
      y[i] = sum / count;
    }
  }
  return used(items);
}

/// n: as for op_mean_axis. at: dy, dx.
BLOCK_OP int op_mean_axis_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals dy = place(f, call.at[0]), dx = place(f, call.at[1]);
  const int outer = call.n[0] * f.batch, len = call.n[1], inner = call.n[2];
  const float count = static_cast<float>(len);
  return each(outer * len * inner, dx, first_thread,
              [&](int i) { return dy[i / (len * inner) * inner + i % inner] / count; });
}

/// Returns true if all strides except the first are multiples of four.
BLOCK_FN bool all_fours(const int* axes, int rank) {
  bool all = true;
  for (int axis = 1; axis < rank; ++axis) all = all && axes[2 * axis + 1] % 4 == 0;
  return all;
}

/// n: 1 if the batch is the first axis, elements per sample, rank.
/// Then size and stride of each axis after the batch, from the last to the first. at: x, y.
BLOCK_OP int op_permute(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int per_sample = call.n[1], rank = call.n[2];
  const int* axes = call.n + 3;
  // Contiguous elements are copied in fours.
  if (axes[1] == 1 && axes[0] % 4 == 0 && whole(x) && whole(y) && all_fours(axes, rank)) {
    const int fours = per_sample / 4;
    return each_four(call.n[0] != 0 ? fours * f.batch : fours, y, first_thread, [&](int i) {
      u32 rest = static_cast<u32>(i % fours);
      int from = 4 * (i - static_cast<int>(rest));
      BLOCK_UNROLL_BY(1)
      for (int axis = 0; axis < rank; ++axis) {
        const u32 size = static_cast<u32>(axis == 0 ? axes[0] / 4 : axes[2 * axis]);
        from += static_cast<int>(rest % size) * (axis == 0 ? 4 : axes[2 * axis + 1]);
        rest /= size;
      }
      return load4(x, from);
    });
  }
  return each(call.n[0] != 0 ? per_sample * f.batch : per_sample, y, first_thread, [&](int i) {
    u32 rest = static_cast<u32>(i % per_sample);
    int from = i - static_cast<int>(rest);
    BLOCK_UNROLL_BY(1)
    for (int axis = 0; axis < rank; ++axis) {
      const u32 size = static_cast<u32>(axes[2 * axis]);
      from += static_cast<int>(rest % size) * axes[2 * axis + 1];
      rest /= size;
    }
    return x[from];
  });
}

/// n: outer per sample, len, inner, begin, len of the slice. at: x, y = x[:, begin : begin + len, :].
BLOCK_OP int op_copy_slice(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int row = call.n[1] * call.n[2], begin = call.n[3] * call.n[2], part = call.n[4] * call.n[2];
  const int count = call.n[0] * f.batch * part;
  if (row % 4 == 0 && begin % 4 == 0 && part % 4 == 0 && whole(x) && whole(y)) {
    const int fours = part / 4;
    return each_four(count / 4, y, first_thread,
                     [&](int i) { return load4(x, i / fours * row + begin + 4 * (i % fours)); });
  }
  return each(count, y, first_thread, [&](int i) { return x[i / part * row + begin + i % part]; });
}

/// n: as for op_copy_slice, then 1 if all other elements become zero. at: x, y[:, begin : begin + len, :] = x.
BLOCK_OP int op_paste_slice(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int row = call.n[1] * call.n[2], begin = call.n[3] * call.n[2], part = call.n[4] * call.n[2];
  const int outer = call.n[0] * f.batch;
  if (call.n[5] != 0 && row % 4 == 0 && begin % 4 == 0 && part % 4 == 0 && whole(x) && whole(y)) {
    const int fours = row / 4;
    return each_four(outer * fours, y, first_thread, [&](int i) {
      const int at = 4 * (i % fours) - begin;
      return at >= 0 && at < part ? load4(x, i / fours * part + at) : Four{};
    });
  }
  if (call.n[5] != 0) {
    return each(outer * row, y, first_thread, [&](int i) {
      const int at = i % row - begin;
      return at >= 0 && at < part ? x[i / row * part + at] : 0.0F;
    });
  }
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < outer * part; i += kThreads) y[i / part * row + begin + i % part] = x[i];
  }
  return used(outer * part);
}

/// n: tokens per sample, vocab, dim. at: tokens, weights, y.
BLOCK_OP int op_embedding(const Call& call, const Frame& f, int first_thread) {
  const Ints token = ints_at(place(f, call.at[0]));
  const Reals w = place(f, call.at[1]), y = place(f, call.at[2]);
  const int vocab = call.n[1], dim = call.n[2];
  return each(call.n[0] * f.batch * dim, y, first_thread, [&](int i) {
    const int number = token[i / dim];
    return number >= 0 && number < vocab ? w[number * dim + i % dim] : 0.0F;
  });
}

/// Adds the rows of each token in order, through a list of its positions. at: tokens, dy, dw, scratch [tokens + vocab].
BLOCK_OP int op_embedding_grad(const Call& call, const Frame& f, int first_thread) {
  const Ints token = ints_at(place(f, call.at[0]));
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[2]);
  const int tokens = call.n[0] * f.batch, vocab = call.n[1], dim = call.n[2];
  const Ints next = ints_at(place(f, call.at[3])), first = next + tokens;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < tokens + vocab; i += kThreads) {
      const int number = i < tokens ? token[i] : i - tokens;
      int at = i < tokens ? i + 1 : 0;
      while (at < tokens && token[at] != number) ++at;
      next[i] = at;
    }
  }
  lane_barrier();
  return each(vocab * dim, dw, first_thread, [&](int i) {
    float sum = 0.0F;
    for (int at = first[i / dim]; at < tokens; at = next[at]) sum += dy[at * dim + i % dim];
    return sum;
  });
}

}  // namespace
}  // namespace lanista::device::block
