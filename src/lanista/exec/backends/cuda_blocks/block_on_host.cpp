// The block text, compiled for the host with fused multiply-add. It may be called only if the CPU supports that.
// It includes no standard header: the linker could select an inline function compiled here for the whole program.
#include "lanista/exec/backends/cuda_blocks/block_on_host.h"

#include "lanista/exec/backends/cuda_blocks/device/run.inc.h"

namespace lanista::device::block {

void run_on_host(const Lane& lane, int (*order)(int)) {
  host.order = order;
  Frame frame;
  for (int step = 0; step < lane.step_count; ++step) {
    lane_barrier();
    begin_step(lane, step, frame);
    run_calls(lane.calls, lane.call_count, frame);
  }
}

}  // namespace lanista::device::block
