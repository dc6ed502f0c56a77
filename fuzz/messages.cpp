// What an executor is told and tells, and what a worker is told before: whatever comes, it is a message or refused, and
// a message says the same when it is told again.
#include "lanista/engine/remote/messages.h"

#include "lanista/engine/remote/worker_config.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const std::string_view input = fuzz::as_text(data, size);
  const auto encode = [](const auto& message) { return engine::encode(message); };
  fuzz::check_told_again(input, engine::decode_executor_request, encode, "an order");
  fuzz::check_told_again(input, engine::decode_report, encode, "a report");
  fuzz::check_told_again(input, engine::decode_worker_config, encode, "a brief");
  return 0;
}
