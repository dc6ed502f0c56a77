// Files of weights: a file that is read can be written, and reads as the same.
#include "lanista/io/formats/safetensors.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto file = formats::decode_safetensors(fuzz::as_text(data, size));
  if (!file) return 0;
  const auto bytes = formats::encode_safetensors(*file);
  LANISTA_CHECK(bytes.ok(), "a file that was read cannot be written: " + bytes.error().text());
  const auto again = formats::decode_safetensors(*bytes);
  LANISTA_CHECK(again.ok() && again->tensors == file->tensors && again->metadata == file->metadata,
                "a file changes when it is written and read");
  return 0;
}
