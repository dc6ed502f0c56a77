#pragma once
// How one text is the code of a block on a device, and a loop over its threads on the host.
//
// A call runs in phases: PHASE(t) { … work of thread t … }, with lane_barrier() between them. On a device, a phase is
// the body of one thread; on the host, it is a loop over threads. No register value lives from one phase to the next.
// There is no barrier after the last phase of a call: the next call has the flag (Call::latency). Calls that do
// not wait for each other share the threads: the next call begins at the thread after the last one's work
// (`first_thread`).
#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

#ifdef __CUDACC_RTC__
#define BLOCK_FN static __device__ __forceinline__
#define BLOCK_CONSTANT static __device__ constexpr
#define BLOCK_OP static __device__ __noinline__
#define BLOCK_METHOD __device__ __forceinline__
#define BLOCK_NOINLINE_FN static __device__ __noinline__
#define BLOCK_UNROLL(count) _Pragma("unroll")
#define BLOCK_UNROLL_BY(count) BLOCK_PRAGMA(unroll(count))
#define BLOCK_PRAGMA(text) _Pragma(#text)
#define BLOCK_GLOBAL(p) __builtin_assume(__isGlobal(p))
#define PHASE(t) if (const int t = own_thread(first_thread); true)
#else
#define BLOCK_FN static inline
#define BLOCK_CONSTANT static constexpr
#define BLOCK_OP static
#define BLOCK_METHOD
#define BLOCK_NOINLINE_FN static inline
#define BLOCK_UNROLL(count)
#define BLOCK_UNROLL_BY(count)
#define BLOCK_GLOBAL(p)
#define PHASE(t) \
  for (int number_ = 0, t = 0; number_ < kThreads && (t = begin_thread(number_, first_thread), true); ++number_)
#endif

namespace lanista::device::block {
namespace {

#ifdef __CUDACC_RTC__
// The numbers of threads per block and blocks per lane are known at the launch, so that the text is compiled once.
BLOCK_FN int block_threads() { return static_cast<int>(blockDim.x); }
BLOCK_FN int cluster_size() {
#if __CUDA_ARCH__ >= 900
  int size;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  return size;
#else
  return 1;
#endif
}
BLOCK_FN int cluster_rank() { return static_cast<int>(blockIdx.x) % cluster_size(); }
#define kThreads (block_threads() * cluster_size())  // threads that share a lane; a power of two

BLOCK_FN int own_thread(int first_thread) {
  // Warps of the blocks of a team alternate, so that little work is spread over all blocks.
  const int thread = static_cast<int>(threadIdx.x);
  return ((thread / 32 * cluster_size() + cluster_rank()) * 32 + thread % 32 + kThreads - first_thread) &
         (kThreads - 1);
}

__device__ u32 prefetch_sink;

/// Loads `words` words at `p` into the first cache, by the threads that have none of `items`. No call has used them
/// before.
BLOCK_FN void prefetch(const float* p, int words, int items) {
  const int busy = 32 * (((items + 31) / 32 + cluster_size() - 1 - cluster_rank()) / cluster_size());
  const int own = static_cast<int>(threadIdx.x) - busy, idle = block_threads() - busy;
  if (own < 0) return;
  const u64 begin = reinterpret_cast<u64>(p) & ~u64{15};
  const int fours = (words + 3) / 4;
  u32 seen = 0;
  BLOCK_UNROLL_BY(1)
  for (int i = own; i < fours; i += 4 * idle) {
    u32 a[4], b, c, d;
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) {
      const int at = i + j * idle < fours ? i + j * idle : i;
      asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a[j]), "=r"(b), "=r"(c), "=r"(d)
                   : "l"(begin + 16 * static_cast<u64>(at)));
    }
    seen ^= a[0] ^ a[1] ^ a[2] ^ a[3];
  }
  if (seen == 0x9E3779B9U) prefetch_sink = seen;
}

BLOCK_FN u64 clock_now() { return static_cast<u64>(clock64()); }
BLOCK_FN bool is_first() { return cluster_rank() == 0 && threadIdx.x == 0; }

BLOCK_FN void lane_barrier() {
#if __CUDA_ARCH__ >= 900
  if (cluster_size() > 1) {
    // These are not the aligned forms, because some threads of a warp may leave a loop later than others.
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
    return;
  }
#endif
  __syncthreads();
}

BLOCK_FN float madd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
BLOCK_FN double madd(double a, double b, double c) { return __fma_rn(a, b, c); }
BLOCK_FN float root_of(float x) { return __fsqrt_rn(x); }
BLOCK_FN double root_of(double x) { return __dsqrt_rn(x); }
BLOCK_FN int bits_of(float x) { return __float_as_int(x); }
BLOCK_FN float real_of(int bits) { return __int_as_float(bits); }
#else
constexpr int kThreads = 256;
BLOCK_FN int cluster_size() { return 1; }

// The current thread and the number of barriers so far, for the race detector.
struct HostBlock {
  int (*order)(int number) = nullptr;  // null: ascending order
  int thread = 0;
  u32 phase = 1;
};
static thread_local HostBlock host;

BLOCK_FN int begin_thread(int number, int first_thread) {
  host.thread = host.order == nullptr ? number : host.order(number);
  return (host.thread + kThreads - first_thread) & (kThreads - 1);
}
BLOCK_FN void end_phase() { ++host.phase; }
BLOCK_FN void lane_barrier() { end_phase(); }
BLOCK_FN u64 clock_now() { return 0; }
BLOCK_FN bool is_first() { return true; }

BLOCK_FN float madd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
BLOCK_FN double madd(double a, double b, double c) { return __builtin_fma(a, b, c); }
BLOCK_FN float root_of(float x) { return __builtin_sqrtf(x); }
BLOCK_FN double root_of(double x) { return __builtin_sqrt(x); }
BLOCK_FN int bits_of(float x) { return __builtin_bit_cast(int, x); }
BLOCK_FN float real_of(int bits) { return __builtin_bit_cast(float, bits); }
#endif

/// Four neighbouring values, in one access if they begin at a multiple of 16 bytes.
struct alignas(16) Four {
  float v[4];
};

/// Two neighbouring values, which begin at a multiple of 8 bytes.
struct alignas(8) Two {
  float v[2];
};

#ifdef BLOCK_TRACED_POINTERS
#include BLOCK_TRACED_POINTERS  // pointer types that report every access
#else
using Reals = float*;
using Doubles = double*;
using Ints = int*;
using Bytes = unsigned char*;

BLOCK_FN Four load4(const float* p, int i) { return *reinterpret_cast<const Four*>(p + i); }
BLOCK_FN Two load2(const float* p, int i) { return *reinterpret_cast<const Two*>(p + i); }
BLOCK_FN void store4(float* p, int i, const Four& four) { *reinterpret_cast<Four*>(p + i) = four; }
BLOCK_FN bool whole(const float* p) { return (reinterpret_cast<u64>(p) & 15) == 0; }
BLOCK_FN Ints ints_at(Reals p) { return reinterpret_cast<int*>(p); }
BLOCK_FN Bytes bytes_at(Reals p) { return reinterpret_cast<unsigned char*>(p); }
BLOCK_FN Doubles doubles_at(Reals p) { return reinterpret_cast<double*>(p); }
BLOCK_FN Reals reals_at(const void* p) { return static_cast<float*>(const_cast<void*>(p)); }
#endif

#ifndef __CUDACC_RTC__
BLOCK_FN void prefetch(const Reals&, int, int) {}
#endif

/// The values of a tile's rows at p[i]; two or four of them are one access.
template <int kRows>
struct Column {
  float v[kRows];
};
template <int kRows>
BLOCK_FN Column<kRows> column_at(Reals p, int i) {
  static_assert(kRows == 1 || kRows == 2 || kRows == 4, "accesses are of one, two or four");
  if constexpr (kRows == 4) {
    const Four four = load4(p, i);
    return {{four.v[0], four.v[1], four.v[2], four.v[3]}};
  } else if constexpr (kRows == 2) {
    const Two two = load2(p, i);
    return {{two.v[0], two.v[1]}};
  } else {
    return {{p[i]}};
  }
}

BLOCK_FN int smaller(int a, int b) { return a < b ? a : b; }
BLOCK_FN int larger(int a, int b) { return a > b ? a : b; }
BLOCK_FN float infinity() { return real_of(0x7F800000); }

/// Inputs of a call in addition to its own sizes: addresses and numbers of the current step.
struct Frame {
  Reals slab, input, target;
  const Step* step;
  u64* call_cycles;  // per call; null unless calls are timed
  u64 seed;
  float* loss;
  int batch;
};

BLOCK_FN Reals place(const Frame& f, int at) {
  const Reals p = at >= 0 ? f.slab + at : at == kInput ? f.input : f.target;
  BLOCK_GLOBAL(p);
  return p;
}

/// Long sums of few outputs, in chunks of rows: while some threads add a chunk, the others load the next one into the
/// cache. work(i, begin, end) continues output i; near(begin, count, items) loads rows.
template <class Near, class Work>
BLOCK_FN void in_chunks(int rows, int at_once, int items, const Near& near, const Work& work) {
  const int first_thread = 0;
  near(0, smaller(at_once, rows), 0);
  lane_barrier();
  BLOCK_UNROLL_BY(1)
  for (int begin = 0; begin < rows; begin += at_once) {
    const int end = smaller(begin + at_once, rows);
    if (end < rows) near(end, smaller(at_once, rows - end), items);
    PHASE(t) {
      BLOCK_UNROLL_BY(1)
      for (int i = t; i < items; i += kThreads) work(i, begin, end);
    }
    lane_barrier();
  }
}

/// Returns the number of rows of a chunk: all rows if they fit into the first cache, else as many as fit twice. A
/// multiple of four.
BLOCK_FN int rows_at_once(int rows, int words_a_row) {
  if (rows * words_a_row <= 32768) return (rows + 3) / 4 * 4;
  return larger(4, 16384 / words_a_row / 4 * 4);
}

/// Returns the number of threads, in whole warps, that a call of so many items uses in its last pass. The next call
/// begins after them.
BLOCK_FN int used(int items) { return (items % kThreads + 31) / 32 * 32; }

/// Returns the estimated cycles per term of all outputs, with rows x columns outputs per thread. The first cache
/// delivers one value per thread and cycle, so a tile costs its edges, not its area. A thread also waits `latency`
/// cycles per term for its loads.
BLOCK_FN int estimated_cost(int items, int rows, int columns, int latency) {
  const int warps = (items + 31) / 32, of_block = (warps + cluster_size() - 1) / cluster_size();
  return larger(of_block * (rows + columns), (items + kThreads - 1) / kThreads * latency);
}

/// Runs store(i, f(i)) for each element i. `kAtOnce` values are computed before one is stored, so that their loads
/// overlap. A stored value may replace what f reads for element i, but for no other element.
template <int kAtOnce, class F, class Store>
BLOCK_FN int each_into(int count, int first_thread, const F& f, const Store& store) {
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < count; i += kAtOnce * kThreads) {
      decltype(f(0)) value[kAtOnce];
      BLOCK_UNROLL(4)
      for (int j = 0; j < kAtOnce; ++j) value[j] = f(i + j * kThreads < count ? i + j * kThreads : i);
      BLOCK_UNROLL(4)
      for (int j = 0; j < kAtOnce; ++j) {
        if (i + j * kThreads < count) store(i + j * kThreads, value[j]);
      }
    }
  }
  return used(count);
}

/// Stores y[i] = f(i) for each i below `count`.
template <class F>
BLOCK_FN int each(int count, Reals y, int first_thread, const F& f) {
  return each_into<4>(
      count, first_thread, [&](int i) { return static_cast<float>(f(i)); }, [&](int i, float value) { y[i] = value; });
}

/// Does the same as `each`, for rare or small calls.
template <class F>
BLOCK_FN int each_alone(int count, Reals y, int first_thread, const F& f) {
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < count; i += kThreads) y[i] = f(i);
  }
  return used(count);
}

/// Does the same as `each` for four neighbours at once: f(i) gives elements 4 i to 4 i + 3.
template <int kAtOnce = 4, class F>
BLOCK_FN int each_four(int fours, Reals y, int first_thread, const F& f) {
  return each_into<kAtOnce>(fours, first_thread, f, [&](int i, const Four& value) { store4(y, 4 * i, value); });
}

/// Stores f of each element of x, or of a and b, in y.
template <int kAtOnce = 4, class F>
BLOCK_FN int map(int count, Reals x, Reals y, int first_thread, const F& f) {
  if (count % 4 != 0 || !whole(x) || !whole(y))
    return each_alone(count, y, first_thread, [&](int i) { return f(x[i]); });
  return each_four<kAtOnce>(count / 4, y, first_thread, [&](int i) {
    Four four = load4(x, 4 * i);
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) four.v[j] = f(four.v[j]);
    return four;
  });
}
template <int kAtOnce = 4, class F>
BLOCK_FN int map(int count, Reals a, Reals b, Reals y, int first_thread, const F& f) {
  if (count % 4 != 0 || !whole(a) || !whole(b) || !whole(y)) {
    return each_alone(count, y, first_thread, [&](int i) { return f(a[i], b[i]); });
  }
  return each_four<kAtOnce>(count / 4, y, first_thread, [&](int i) {
    Four left = load4(a, 4 * i);
    const Four right = load4(b, 4 * i);
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) left.v[j] = f(left.v[j], right.v[j]);
    return left;
  });
}

}  // namespace
}  // namespace lanista::device::block
