// Chunks of several machines in one launch, without threads.
#include <iterator>

#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_machine.h"

namespace lanista::device {

void run_population(std::span<const PopulationPart> parts) {
  std::vector<BlockMachine*> machines;
  for (const PopulationPart& part : parts) {
    auto* const machine = dynamic_cast<BlockMachine*>(part.machine);
    LANISTA_CHECK(machine != nullptr && (machines.empty() || machine->device_ == machines[0]->device_),
                  "a population of machines that are not blocks of one device");
    machines.push_back(machine);
    machine->begin(*part.chunk, part.ends);
  }
  const auto fail_all = [&] {
    for (BlockMachine* machine : machines) machine->fail(std::current_exception());
  };
  std::vector<block::Lane> lanes;
  std::vector<BlockMachine::Sent> sent;
  while (true) {
    std::erase_if(machines, [](const BlockMachine* machine) { return !machine->has_steps(); });
    if (machines.empty()) return;
    try {
      // In step, so that they may share batches.
      for (BlockMachine* machine : machines) machine->open_round(std::ssize(machines));
      while (std::ranges::all_of(machines,
                                 [](const BlockMachine* each) { return each->has_steps() && each->has_room(); })) {
        sent.clear();
        for (BlockMachine* machine : machines) machine->take_step(&sent);
      }
      lanes.clear();
      for (BlockMachine* machine : machines) machine->close_round(lanes);
      if (!lanes.empty()) {
        machines[0]->device_->launch(lanes);
        machines[0]->device_->wait();
      }
    } catch (...) {
      return fail_all();
    }
    for (BlockMachine* machine : machines) machine->wait();
  }
}

}  // namespace lanista::device
