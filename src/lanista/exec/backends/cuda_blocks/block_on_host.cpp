// The text of blocks, compiled for the host with fused multiply-add: it may only be called where the CPU has it. No
// standard header here: an inline function of one could be picked by the linker for everybody.
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
