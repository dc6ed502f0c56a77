// Lane kernels for windows: convolutions, and the windows that a product multiplies.
// NOLINTBEGIN
// ---- windows ----

// i counts [lanes, groups, samples, oh, ow, c]. The kernel loops over the cells of a window.
LANE_KERNEL(windows, Windows) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.each);
  rest /= n32(a.each);
  const i64 window = rest;
  const int q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const int r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples);
  rest /= n32(a.samples);
  const i64 g = rest % n32(a.groups), lane = rest / n32(a.groups);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + (g * a.each + c) * a.at.channel;
  T* to = LANE_WRITE(y) + window * a.kh * a.kw * a.each + c;
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = lane_source(r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h), int(a.h), int(a.spread_h));
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column =
          lane_source(q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w), int(a.w), int(a.spread_w));
      *to = y >= 0 && column >= 0 ? x[y * a.at.row + column * a.at.column] : T(0);
      to += a.each;
    }
  }
}

// i counts [lanes, share of the pixels, co / 8]. A thread computes several pixels and eight channels of each.
// Neighbouring threads read the same pixels and write contiguous memory. No sum depends on the number of pixels per
// thread.
template <int Pixels>
LANE_FN void lane_convolution(i64 i, const Convolution& a) {
  const n32 pixels = n32(a.samples * a.oh * a.ow), share = (pixels + Pixels - 1) / Pixels, blocks = n32(a.co) / 8;
  const n32 block = n32(i) % blocks, first = n32(i) / blocks % share, lane = n32(i) / blocks / share;
  const T* x = LANE_READ(x) + lane * a.at.lane;
  const T* weight = LANE_READ(weight) + lane * a.weight_stride + block * 8;
  T sum[Pixels][8];
  int row[Pixels], column[Pixels];
  const T* image[Pixels];
  for (int j = 0; j < Pixels; ++j) {
    const n32 pixel = first + j * share < pixels ? first + j * share : 0;
    const n32 above = pixel / n32(a.ow);
    column[j] = int(pixel % n32(a.ow)) * int(a.stride_w) - int(a.left);
    row[j] = int(above % n32(a.oh)) * int(a.stride_h) - int(a.top);
    image[j] = x + i64(above / n32(a.oh)) * a.at.sample;
    for (int k = 0; k < 8; ++k) sum[j][k] = T(0);
  }
  const int ci = int(a.ci);
  for (int ky = 0; ky < int(a.kh); ++ky) {
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const T* from[Pixels];
      for (int j = 0; j < Pixels; ++j) {
        const int y = lane_source(row[j] + ky * int(a.dilation_h), int(a.h), int(a.spread_h));
        const int z = lane_source(column[j] + kx * int(a.dilation_w), int(a.w), int(a.spread_w));
        from[j] = y >= 0 && z >= 0 ? image[j] + (y * int(a.at.row) + z * int(a.at.column)) : (const T*)0;
      }
      const T* w = weight + i64(ky * int(a.kw) + kx) * ci * a.co;
      if (a.fours) {
        for (int c = 0; c < ci; c += 4) {
          Four v[Pixels];
          for (int j = 0; j < Pixels; ++j) {
            if (from[j]) {
              v[j] = *(const Four*)(from[j] + c);
            } else {
              for (int k = 0; k < 4; ++k) v[j].v[k] = T(0);
            }
          }
          for (int k = 0; k < 4; ++k) {
            const Four low = *(const Four*)w, high = *(const Four*)(w + 4);
            w += a.co;
            for (int j = 0; j < Pixels; ++j) {
              for (int o = 0; o < 4; ++o) {
                sum[j][o] += v[j].v[k] * low.v[o];
                sum[j][4 + o] += v[j].v[k] * high.v[o];
              }
            }
          }
        }
      } else {
        for (int c = 0; c < ci; ++c) {
          const Four low = *(const Four*)w, high = *(const Four*)(w + 4);
          w += a.co;
          for (int j = 0; j < Pixels; ++j) {
            const T v = from[j] ? from[j][c * a.at.channel] : T(0);
            for (int o = 0; o < 4; ++o) {
              sum[j][o] += v * low.v[o];
              sum[j][4 + o] += v * high.v[o];
            }
          }
        }
      }
    }
  }
  for (int j = 0; j < Pixels; ++j) {
    const n32 pixel = first + j * share;
    if (pixel >= pixels) continue;
    T* to = LANE_WRITE(y) + (i64(lane) * pixels + pixel) * a.co + block * 8;
    for (int half = 0; half < 2; ++half) {
      Four out;
      for (int o = 0; o < 4; ++o) {
        const int k = 4 * half + o;
        out.v[o] = a.bias ? sum[j][k] + LANE_READ(bias)[lane * a.bias_stride + block * 8 + k] : sum[j][k];
      }
      *(Four*)(to + 4 * half) = out;
    }
  }
}
LANE_KERNEL(convolution_4, Convolution) { lane_convolution<4>(i, a); }
LANE_KERNEL(convolution_2, Convolution) { lane_convolution<2>(i, a); }
LANE_KERNEL(convolution_1, Convolution) { lane_convolution<1>(i, a); }

// i counts [lanes, parts, kh, kw, ci in fours, co in eights].
LANE_KERNEL(convolution_grad_w, ConvolutionGrad) {
  const n32 blocks = n32(a.co) / 8, fours = (n32(a.ci) + 3) / 4;
  n32 rest = n32(i);
  const n32 block = rest % blocks;
  rest /= blocks;
  const n32 first = rest % fours * 4;
  rest /= fours;
  const int kx = int(rest % n32(a.kw));
  rest /= n32(a.kw);
  const int ky = int(rest % n32(a.kh));
  rest /= n32(a.kh);
  const n32 part = rest % n32(a.parts), lane = rest / n32(a.parts);
  const n32 rows = n32(a.samples * a.oh * a.ow), begin = part * n32(a.each);
  const n32 end = begin + n32(a.each) < rows ? begin + n32(a.each) : rows;
  const int channels = int(n32(a.ci) - first < 4 ? n32(a.ci) - first : 4);
  T sum[4][8];
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 8; ++k) sum[j][k] = T(0);
  }
  int q = int(begin % n32(a.ow)), r = int(begin / n32(a.ow) % n32(a.oh)), n = int(begin / n32(a.ow) / n32(a.oh));
  const T* x = LANE_READ(x) + lane * a.at.lane + first * a.at.channel;
  const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + block * 8;
  for (n32 at = begin; at < end; at += 4) {
    // All values that four rows read come first, then their products.
    Four v[4], low[4], high[4];
    for (int u = 0; u < 4; ++u) {
      const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
      const int z = q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w);
      const bool inside = at + u < end && (unsigned)y < (unsigned)a.h && (unsigned)z < (unsigned)a.w;
      const T* from = x + (n * int(a.at.sample) + y * int(a.at.row) + z * int(a.at.column));
      const T* back = dy + (n * int(a.dy_at.sample) + r * int(a.dy_at.row) + q * int(a.dy_at.column));
      for (int j = 0; j < 4; ++j) v[u].v[j] = low[u].v[j] = high[u].v[j] = T(0);
      if (inside) {
        low[u] = *(const Four*)back;
        high[u] = *(const Four*)(back + 4);
        if (a.fours) {
          v[u] = *(const Four*)from;
        } else {
          for (int j = 0; j < 4; ++j) v[u].v[j] = j < channels ? from[j * a.at.channel] : T(0);
        }
      }
      if (++q == int(a.ow)) {
        q = 0;
        if (++r == int(a.oh)) {
          r = 0;
          ++n;
        }
      }
    }
    for (int u = 0; u < 4; ++u) {
      for (int j = 0; j < 4; ++j) {
        for (int o = 0; o < 4; ++o) {
          sum[j][o] += v[u].v[j] * low[u].v[o];
          sum[j][4 + o] += v[u].v[j] * high[u].v[o];
        }
      }
    }
  }
  T* to = LANE_WRITE(y) + (((i64(lane) * a.parts + part) * a.kh + ky) * a.kw + kx) * a.ci * a.co;
  for (int j = 0; j < channels; ++j) {
    for (int k = 0; k < 8; ++k) to[(first + j) * a.co + block * 8 + k] = sum[j][k];
  }
}

// i counts [lanes, windows, co, ci].
LANE_KERNEL(turn, WeightTranspose) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.ci);
  rest /= n32(a.ci);
  const i64 o = rest % n32(a.co);
  rest /= n32(a.co);
  const i64 window = rest % n32(a.windows), lane = rest / n32(a.windows);
  LANE_WRITE(y)[i] = LANE_READ(x)[lane * a.lane + ((a.windows - 1 - window) * a.ci + c) * a.co + o];
}

// i counts [lanes, samples, oh, ow, channels].
LANE_KERNEL(depthwise, Depthwise) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.oh, a.ow, a.channels);
  const int r = p.row, q = p.column;
  const T* x = LANE_READ(x) + lane_origin(a.at, p);
  const T* weight = LANE_READ(weight) + p.lane * a.weight_stride + p.channel;
  Four sum = lane_zeros();
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w);
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, vector_width);
      const T* w = weight + (ky * int(a.kw) + kx) * a.channels;
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width) sum.v[k] += v.v[k] * w[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, sum, vector_width);
}
// i counts [lanes, samples, h, w, channels].
LANE_KERNEL(depthwise_grad_x, Depthwise) {
  const int vector_width = int(a.vector_width);
  const Pixel p = lane_pixel(i, vector_width, a.samples, a.h, a.w, a.channels);
  const T* dy = LANE_READ(dy) + lane_origin(a.dy_at, p);
  const T* weight = LANE_READ(weight) + p.lane * a.weight_stride + p.channel;
  Four sum = lane_zeros();
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int r = lane_source(p.row + int(a.top) - ky * int(a.dilation_h), int(a.oh), int(a.stride_h));
    if (r < 0) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int q = lane_source(p.column + int(a.left) - kx * int(a.dilation_w), int(a.ow), int(a.stride_w));
      if (q < 0) continue;
      const Four v = lane_load(dy + r * a.dy_at.row + q * a.dy_at.column, vector_width);
      const T* w = weight + (ky * int(a.kw) + kx) * a.channels;
      for (int k = 0; k < 4; ++k) {
        if (k < vector_width) sum.v[k] += v.v[k] * w[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, sum, vector_width);
}
// i counts [lanes, parts, kh, shares of kw, channels]. A part is several output rows of all samples. A thread computes
// several cells of a window row for four channels, and reads dy once for all of them. With stride one it also reads the
// image once.
template <int Cells>
LANE_FN void lane_depthwise_grad_w(i64 i, const Depthwise& a) {
  const int vector_width = int(a.vector_width);
  const n32 shares = (n32(a.kw) + Cells - 1) / Cells, channels = n32(a.channels) / vector_width;
  n32 rest = n32(i);
  const i64 c = i64(rest % channels) * vector_width;
  rest /= channels;
  const int first = int(rest % shares) * Cells;
  rest /= shares;
  const int ky = rest % n32(a.kh);
  rest /= n32(a.kh);
  const i64 part = rest % n32(a.parts), lane = rest / n32(a.parts);
  const i64 rows = a.samples * a.oh, begin = part * a.each, end = begin + a.each < rows ? begin + a.each : rows;
  const int step = int(a.dilation_w), lane_distance = int(a.at.column), w = int(a.w);
  const bool slides = step == 1 && a.stride_w == 1;
  Four sum[Cells];
  LANE_UNROLL for (int k = 0; k < Cells; ++k) sum[k] = lane_zeros();
  for (i64 at = begin; at < end; ++at) {
    const int n = int(n32(at) / n32(a.oh)), r = int(n32(at) % n32(a.oh));
    const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
    if (y < 0 || y >= int(a.h)) continue;
    const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel + y * a.at.row;
    const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + n * a.dy_at.sample + c * a.dy_at.channel + r * a.dy_at.row;
    const auto cell = [&](int column) {
      return column >= 0 && column < w ? lane_load(x + column * lane_distance, vector_width) : lane_zeros();
    };
    Four seen[Cells];
    for (int q = 0; q < int(a.ow); ++q) {
      const Four back = lane_load(dy + q * int(a.dy_at.column), vector_width);
      const int column = q * int(a.stride_w) - int(a.left) + first * step;
      if (slides && q > 0) {
        LANE_UNROLL for (int k = 0; k + 1 < Cells; ++k) seen[k] = seen[k + 1];
        seen[Cells - 1] = cell(column + Cells - 1);
      } else {
        LANE_UNROLL for (int k = 0; k < Cells; ++k) seen[k] = cell(column + k * step);
      }
      LANE_UNROLL for (int k = 0; k < Cells; ++k) {
        LANE_UNROLL for (int j = 0; j < 4; ++j) {
          if (j < vector_width) sum[k].v[j] += seen[k].v[j] * back.v[j];
        }
      }
    }
  }
  T* to = LANE_WRITE(y) + (((lane * a.parts + part) * a.kh + ky) * a.kw + first) * a.channels + c;
  LANE_UNROLL for (int k = 0; k < Cells; ++k) {
    if (first + k < int(a.kw)) lane_store(to + k * a.channels, sum[k], vector_width);
  }
}
LANE_KERNEL(depthwise_grad_w_1, Depthwise) { lane_depthwise_grad_w<1>(i, a); }
LANE_KERNEL(depthwise_grad_w_3, Depthwise) { lane_depthwise_grad_w<3>(i, a); }
LANE_KERNEL(depthwise_grad_w_5, Depthwise) { lane_depthwise_grad_w<5>(i, a); }
// NOLINTEND
