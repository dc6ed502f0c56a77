// Messages between the ranks of a pipeline. Any input is a stage task, a range of memory or a stage signal, or it is
// refused. A message is equal after it is encoded and decoded again. It changes only those bytes of a rank's memory
// that its sender may write.
#include <algorithm>
#include <string>
#include <vector>

#include "lanista/exec/pipeline_parallel/stage_inbox.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"
#include "lanista/exec/program/aligned_bytes.h"

#include "fuzz.h"

namespace {

using namespace lanista;

constexpr std::int64_t kSize = 4096, kBegin = 2048, kEnd = 2080;

// The memory of two ranks, in which rank 1 may write bytes [kBegin, kEnd) of rank 0.
const program::StageMemoryMap& map() {
  static const program::StageMemoryMap kMap{
      .bytes = kSize, .program = {}, .rank_of = {0, 1}, .ranks = 2, .pieces = 3, .routes = {{1, 0, kBegin, kEnd}}};
  return kMap;
}

// Writes an allowed message to the memory of rank 0, and checks that all other bytes stay zero.
void write(const runtime::StageBytes& piece) {
  const program::AlignedBytes memory(kSize);
  program::StageInbox inbox(map(), memory.data(), 0);
  if (!inbox.check(piece.from, piece.to, piece.at, static_cast<std::int64_t>(piece.bytes.size())) || piece.to != 0)
    return;
  LANISTA_CHECK(inbox.write(piece.from, piece.at, piece.bytes).ok(), "an allowed write is refused");
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  LANISTA_CHECK(std::all_of(memory.data(), memory.data() + kBegin, is_zero), "a write changes bytes before its route");
  LANISTA_CHECK(std::all_of(memory.data() + kEnd, memory.data() + kSize, is_zero),
                "a write changes bytes after its route");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const auto encode = [](const auto& message) { return runtime::encode(message); };
  fuzz::check_round_trip(input, runtime::decode_stage_task, encode, "a stage task");
  if (const auto piece = runtime::decode_stage_bytes(input)) {
    LANISTA_CHECK(runtime::encode(*piece) == input, "a range of memory changes when it is encoded again");
    write(*piece);
  }
  if (const auto message = runtime::decode_stage_signal(input)) {
    LANISTA_CHECK(runtime::encode(*message) == input, "a stage signal changes when it is encoded again");
    const program::AlignedBytes memory(kSize);
    static_cast<void>(program::StageInbox(map(), memory.data(), 0).receive(message->from, message->signal));
    static_cast<void>(program::StageInbox(map(), memory.data(), 1).receive(message->from, message->signal));
  }
  return 0;
}
