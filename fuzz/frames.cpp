// What comes through a socket: whatever it is and in whatever pieces, it is messages or refused, and the same messages
// in other pieces.
#include <algorithm>
#include <string>
#include <vector>

#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/frame_reader.h"

#include "fuzz.h"

namespace {

using namespace lanista;

std::vector<engine::Message> messages_of(std::string_view bytes, std::size_t piece) {
  engine::FrameReader reader;
  std::vector<engine::Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (true) {
      auto message = reader.next();
      if (!message) {
        LANISTA_CHECK(!reader.next().ok(), "it goes on behind what is no message");
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
  LANISTA_CHECK(messages_of(input, 3) == whole, "pieces matter");
  const std::string text(input);
  if (const auto hello = engine::decode_hello(text)) {
    LANISTA_CHECK(engine::decode_hello(engine::encode(*hello)).ok(), "a hello is not read again");
  }
  if (const auto welcome = engine::decode_welcome(text)) {
    LANISTA_CHECK(engine::decode_welcome(engine::encode(*welcome)).ok(), "a welcome is not read again");
  }
  if (const auto question = engine::decode_measure_request(text)) {
    LANISTA_CHECK(engine::decode_measure_request(engine::encode(*question)).ok(), "a question is not read again");
  }
  static_cast<void>(engine::split_token(text));
  static_cast<void>(engine::decode_trials(text));
  static_cast<void>(engine::decode_measured_metrics(text));
  static_cast<void>(engine::decode_error(text));
  return 0;
}
