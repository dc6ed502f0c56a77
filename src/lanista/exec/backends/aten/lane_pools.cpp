// Window pools: one kernel for each direction.
#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/lane_calls.h"

namespace lanista::device {
namespace {

// `larger` is the image that contains the windows; the kernel reads with the strides of `read`.
lane::Pool call_of(const Pool& s, const Tensor& read) {
  return {.x = read.data_ptr(),
          .winning_cell = nullptr,
          .y = nullptr,
          .at = image_of(read),
          .winning_cell_at = {},
          .samples = read.size(1),
          .channels = read.size(2),
          .h = s.h,
          .w = s.w,
          .oh = s.oh,
          .ow = s.ow,
          .kh = s.kh,
          .kw = s.kw,
          .stride_h = s.stride_h,
          .stride_w = s.stride_w,
          .top = s.pads.top,
          .left = s.pads.left,
          .bottom = s.pads.bottom,
          .right = s.pads.right,
          .padding = 0,
          .vector_width = can_load_fours(read) ? 4 : 1};
}

AtenRun max_pool(const AtenCall& call, const LaneKernels* k) {
  return
      [k, s = pool_of(call.args, call.x(), call.y()), indexed = call.out.size() > 1](const Frame&, const Tensors& in) {
        const Tensor& x = in[0];
        Tensor y = at::empty({x.size(0), x.size(1), s.oh, s.ow, x.size(2)}, x.options()), winning_cell;
        lane::Pool pool = call_of(s, x);
        pool.y = y.data_ptr();
        if (indexed) {
          winning_cell = at::empty(y.sizes(), y.options().dtype(at::kByte));
          pool.winning_cell = static_cast<unsigned char*>(winning_cell.data_ptr());
        }
        k->run("max_pool", x.scalar_type(), y.numel() / pool.vector_width, pool);
        if (!indexed) return Tensors{to_channels_first(y)};
        return Tensors{to_channels_first(y), to_channels_first(winning_cell)};
      };
}

Tensor larger(const Pool& s, const Tensor& dy) {
  return at::empty({dy.size(0), dy.size(1), s.h, s.w, dy.size(2)}, dy.options());
}

AtenRun max_pool_grad(const AtenCall& call, const LaneKernels* k) {
  return [k, s = pool_of(call.args, call.y(), call.x(1))](const Frame&, const Tensors& in) {
    Tensor dx = larger(s, in[1]);
    lane::Pool pool = call_of(s, in[1]);
    pool.winning_cell = static_cast<unsigned char*>(in[0].data_ptr()), pool.winning_cell_at = image_of(in[0]);
    pool.y = dx.data_ptr();
    k->run("max_pool_grad", dx.scalar_type(), dx.numel() / pool.vector_width, pool);
    return Tensors{to_channels_first(dx)};
  };
}

AtenRun avg_pool(const AtenCall& call, const LaneKernels* k) {
  return [k, s = pool_of(call.args, call.x(), call.y()), padding = call.args.flag("count_include_pad")](
             const Frame&, const Tensors& in) {
    const Tensor& x = in[0];
    Tensor y = at::empty({x.size(0), x.size(1), s.oh, s.ow, x.size(2)}, x.options());
    lane::Pool pool = call_of(s, x);
    pool.y = y.data_ptr(), pool.padding = padding ? 1 : 0;
    k->run("avg_pool", x.scalar_type(), y.numel() / pool.vector_width, pool);
    return Tensors{to_channels_first(y)};
  };
}

AtenRun avg_pool_grad(const AtenCall& call, const LaneKernels* k) {
  return [k, s = pool_of(call.args, call.y(), call.x()), padding = call.args.flag("count_include_pad")](
             const Frame&, const Tensors& in) {
    Tensor dx = larger(s, in[0]);
    lane::Pool pool = call_of(s, in[0]);
    pool.y = dx.data_ptr(), pool.padding = padding ? 1 : 0;
    k->run("avg_pool_grad", dx.scalar_type(), dx.numel() / pool.vector_width, pool);
    return Tensors{to_channels_first(dx)};
  };
}

}  // namespace

void add_lane_pools(AtenTable& table, const LaneKernels& kernels) {
  table["max_pool2d"] = with_kernels(kernels, max_pool);
  table["max_pool2d_train"] = with_kernels(kernels, max_pool);
  table["max_pool2d_grad"] = with_kernels(kernels, max_pool_grad);
  table["avg_pool2d"] = with_kernels(kernels, avg_pool);
  table["avg_pool2d_grad"] = with_kernels(kernels, avg_pool_grad);
}

}  // namespace lanista::device
