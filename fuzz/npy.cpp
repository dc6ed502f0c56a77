// NumPy arrays: an array that is read can be written, and reads as the same.
#include "lanista/io/formats/npy.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto tensor = formats::decode_npy(fuzz::as_text(data, size));
  if (!tensor) return 0;
  const auto again = formats::decode_npy(formats::encode_npy(*tensor));
  LANISTA_CHECK(again.ok() && *again == *tensor, "an array changes when it is written and read");
  return 0;
}
