// Lane kernels of pools. `i` counts the written elements, channels last.
// NOLINTBEGIN
LANE_KERNEL(max_pool, Pool) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.oh, a.ow, a.channels);
  const int r = p.row, q = p.column;
  const T* x = LANE_READ(x) + lane_origin(a.at, p);
  Four best;
  int winning_cell[4];
  for (int k = 0; k < 4; ++k) {
    best.v[k] = -LANE_INFINITY;
    winning_cell[k] = 255;
  }
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky;
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx;
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, vector_width);
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width && (v.v[k] > best.v[k] || v.v[k] != v.v[k] || winning_cell[k] == 255)) {
          best.v[k] = v.v[k];
          winning_cell[k] = ky * int(a.kw) + kx;
        }
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, best, vector_width);
  if (a.winning_cell && vector_width == 4) {
    u32 all = 0;
    for (int k = 0; k < 4; ++k) all |= u32(winning_cell[k]) << (8 * k);
    *(u32*)(a.winning_cell + i * 4) = all;
  } else if (a.winning_cell) {
    a.winning_cell[i] = (unsigned char)winning_cell[0];
  }
}
LANE_KERNEL(max_pool_grad, Pool) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.h, a.w, a.channels);
  const T* dy = LANE_READ(x) + lane_origin(a.at, p);
  const unsigned char* winning_cell = a.winning_cell + lane_origin(a.winning_cell_at, p);
  Four sum = lane_zeros();
  const CoveringWindow down = lane_covering_window(p.row + int(a.top), int(a.stride_h));
  const CoveringWindow right = lane_covering_window(p.column + int(a.left), int(a.stride_w));
  const bool bytes = vector_width == 4 && a.winning_cell_at.channel == 1;
  // Cells are visited in ascending order, so the last window comes first.
  for (int ky = down.cell, r = down.window; ky < int(a.kh) && r >= 0; ky += int(a.stride_h), --r) {
    if (r >= int(a.oh)) continue;
    for (int kx = right.cell, q = right.window; kx < int(a.kw) && q >= 0; kx += int(a.stride_w), --q) {
      if (q >= int(a.ow)) continue;
      const unsigned char* at = winning_cell + r * a.winning_cell_at.row + q * a.winning_cell_at.column;
      const Four v = lane_load(dy + r * a.at.row + q * a.at.column, vector_width);
      const u32 cell = u32(ky * int(a.kw) + kx), all = bytes ? *(const u32*)at : 0;
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width && (bytes ? all >> (8 * k) & 255u : u32(at[k * a.winning_cell_at.channel])) == cell)
          sum.v[k] += v.v[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, sum, vector_width);
}
// Number of cells of a window's mean along one axis: those inside the image, or also those of the padding.
LANE_FN int lane_reach(int first, int window, int size, int behind, bool padding) {
  const int begin = padding || first > 0 ? first : 0, bound = size + (padding ? behind : 0);
  return (first + window < bound ? first + window : bound) - begin;
}
LANE_FN T lane_divisor(const Pool& a, int r, int q) {
  const int cells = lane_reach(r * int(a.stride_h) - int(a.top), int(a.kh), int(a.h), int(a.bottom), a.padding != 0) *
                    lane_reach(q * int(a.stride_w) - int(a.left), int(a.kw), int(a.w), int(a.right), a.padding != 0);
  return T(cells < 1 ? 1 : cells);
}
LANE_KERNEL(avg_pool, Pool) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.oh, a.ow, a.channels);
  const int r = p.row, q = p.column;
  const T* x = LANE_READ(x) + lane_origin(a.at, p);
  Four sum = lane_zeros();
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky;
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx;
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, vector_width);
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width) sum.v[k] += v.v[k];
      }
    }
  }
  const T cells = T(1) / lane_divisor(a, r, q);
  for (int k = 0; k < 4; ++k) {
    if (k < vector_width) sum.v[k] = sum.v[k] * cells;
  }
  lane_store(LANE_WRITE(y) + i * vector_width, sum, vector_width);
}
LANE_KERNEL(avg_pool_grad, Pool) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.h, a.w, a.channels);
  const T* dy = LANE_READ(x) + lane_origin(a.at, p);
  Four sum = lane_zeros();
  const CoveringWindow down = lane_covering_window(p.row + int(a.top), int(a.stride_h));
  const CoveringWindow right = lane_covering_window(p.column + int(a.left), int(a.stride_w));
  for (int ky = down.cell, r = down.window; ky < int(a.kh) && r >= 0; ky += int(a.stride_h), --r) {
    if (r >= int(a.oh)) continue;
    for (int kx = right.cell, q = right.window; kx < int(a.kw) && q >= 0; kx += int(a.stride_w), --q) {
      if (q >= int(a.ow)) continue;
      const Four v = lane_load(dy + r * a.at.row + q * a.at.column, vector_width);
      const T cells = T(1) / lane_divisor(a, r, q);
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width) sum.v[k] += v.v[k] * cells;
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, sum, vector_width);
}
// NOLINTEND
