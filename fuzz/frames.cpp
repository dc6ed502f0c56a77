// The stream of a worker's socket: any bytes give messages or an error, and the same messages for any split.
#include <algorithm>
#include <string>
#include <vector>

#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/frame_reader.h"

#include "fuzz.h"

namespace {

using namespace lanista;

// The messages of a stream that arrives in pieces of `piece` bytes, up to the first error.
std::vector<engine::Message> messages_of(std::string_view bytes, std::size_t piece) {
  engine::FrameReader reader;
  std::vector<engine::Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (true) {
      auto message = reader.next();
      if (!message) {
        LANISTA_CHECK(!reader.next().ok(), "the reader continues after an error");
        return messages;
      }
      if (!*message) break;
      messages.push_back(**std::move(message));
    }
  }
  return messages;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const auto whole = messages_of(input, std::max<std::size_t>(size, 1));
  LANISTA_CHECK(messages_of(input, 3) == whole, "the messages depend on the split of the stream");
  const std::string text(input);
  if (const auto hello = engine::decode_hello(text)) {
    LANISTA_CHECK(engine::decode_hello(engine::encode(*hello)).ok(), "a hello cannot be decoded after encoding");
  }
  if (const auto welcome = engine::decode_welcome(text)) {
    LANISTA_CHECK(engine::decode_welcome(engine::encode(*welcome)).ok(), "a welcome cannot be decoded after encoding");
  }
  if (const auto request = engine::decode_measure_request(text)) {
    LANISTA_CHECK(engine::decode_measure_request(engine::encode(*request)).ok(),
                  "a measure request cannot be decoded after encoding");
  }
  static_cast<void>(engine::split_token(text));
  static_cast<void>(engine::decode_trials(text));
  static_cast<void>(engine::decode_measured_metrics(text));
  static_cast<void>(engine::decode_error(text));
  return 0;
}
