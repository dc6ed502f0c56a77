// What places of a pipeline say to each other: whatever comes, it is a task, a piece of memory or a word, or refused;
// it says the same when it is told again; and nothing of it changes more of a place's memory than is its speaker's to
// say.
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

const nn::StageMemoryMap& map() {
  static const nn::StageMemoryMap kMap{
      .bytes = kSize, .program = {}, .rank_of = {0, 1}, .ranks = 2, .pieces = 3, .routes = {{1, 0, kBegin, kEnd}}};
  return kMap;
}

void write(const runtime::StageBytes& piece) {
  const nn::AlignedBytes memory(kSize);
  nn::StageInbox inbox(map(), memory.data(), 0);
  if (!inbox.check(piece.from, piece.to, piece.at, static_cast<std::int64_t>(piece.bytes.size())) || piece.to != 0)
    return;
  LANISTA_CHECK(inbox.write(piece.from, piece.at, piece.bytes).ok(), "what may be said is not heard");
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  LANISTA_CHECK(std::all_of(memory.data(), memory.data() + kBegin, is_zero), "bytes before a route are another's");
  LANISTA_CHECK(std::all_of(memory.data() + kEnd, memory.data() + kSize, is_zero),
                "bytes behind a route are another's");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const auto encode = [](const auto& message) { return runtime::encode(message); };
  fuzz::check_told_again(input, runtime::decode_stage_task, encode, "a task");
  if (const auto piece = runtime::decode_stage_bytes(input)) {
    LANISTA_CHECK(runtime::encode(*piece) == input, "a piece of memory changes on its way");
    write(*piece);
  }
  if (const auto spoken = runtime::decode_stage_signal(input)) {
    LANISTA_CHECK(runtime::encode(*spoken) == input, "a word changes on its way");
    const nn::AlignedBytes memory(kSize);
    static_cast<void>(nn::StageInbox(map(), memory.data(), 0).receive(spoken->from, spoken->signal));
    static_cast<void>(nn::StageInbox(map(), memory.data(), 1).receive(spoken->from, spoken->signal));
  }
  return 0;
}
