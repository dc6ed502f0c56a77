// Messages between engine and worker: commands, reports and the configuration of the worker. Any input is a message or
// is refused. A message is equal after it is encoded and decoded again.
#include "lanista/engine/remote/messages.h"

#include "lanista/engine/remote/worker_config.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const std::string_view input = fuzz::as_text(data, size);
  const auto encode = [](const auto& message) { return engine::encode(message); };
  fuzz::check_round_trip(input, engine::decode_executor_request, encode, "a command");
  fuzz::check_round_trip(input, engine::decode_report, encode, "a report");
  fuzz::check_round_trip(input, engine::decode_worker_config, encode, "a worker configuration");
  return 0;
}
