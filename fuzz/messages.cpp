// What an executor is told and tells, and what a worker is told before: whatever comes, it is a message or refused, and
// a message says the same when it is told again.
#include "lanista/engine/messages.h"

#include "lanista/engine/worker_brief.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const std::string_view input = fuzz::as_text(data, size);
  if (const auto order = engine::decode_order(input)) {
    const std::string told = engine::encode(*order);
    const auto again = engine::decode_order(told);
    LANISTA_CHECK(again.ok(), "an order that was read is not read again");
    LANISTA_CHECK(engine::encode(*again) == told, "an order changes on its way");
  }
  if (const auto report = engine::decode_report(input)) {
    const std::string said = engine::encode(*report);
    const auto again = engine::decode_report(said);
    LANISTA_CHECK(again.ok(), "a report that was read is not read again");
    LANISTA_CHECK(engine::encode(*again) == said, "a report changes on its way");
  }
  if (const auto brief = engine::decode_brief(input)) {
    const std::string told = engine::encode(*brief);
    const auto again = engine::decode_brief(told);
    LANISTA_CHECK(again.ok(), "a brief that was read is not read again");
    LANISTA_CHECK(engine::encode(*again) == told, "a brief changes on its way");
  }
  return 0;
}
