// What an executor is told and tells, and what a worker is told before: whatever comes, it is a message or refused, and
// a message says the same when it is told again.
#include "lanista/engine/remote/messages.h"

#include "lanista/engine/remote/worker_brief.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const std::string_view input = fuzz::as_text(data, size);
  const auto encode = [](const auto& message) { return engine::encode(message); };
  fuzz::check_told_again(input, engine::decode_order, encode, "an order");
  fuzz::check_told_again(input, engine::decode_report, encode, "a report");
  fuzz::check_told_again(input, engine::decode_brief, encode, "a brief");
  return 0;
}
