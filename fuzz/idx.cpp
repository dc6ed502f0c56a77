// IDX files, plain or packed with gzip: the number of elements fits the shape, and unpacking first changes nothing.
#include "lanista/io/formats/idx.h"

#include <algorithm>

#include "fuzz.h"
#include "lanista/io/formats/gzip.h"
#include "lanista/io/formats/unpack.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const std::string_view bytes = fuzz::as_text(data, size);
  const auto tensor = formats::decode_idx(bytes);
  if (tensor) {
    LANISTA_CHECK(static_cast<std::size_t>(tensor->elements()) * element_size(tensor->type) == tensor->bytes.size(),
                  "elements do not fit the shape");
  }
  if (!formats::is_gzip(bytes)) return 0;
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 24;
  const auto plain = formats::gunzip(bytes, kMaxBytes);
  if (!plain) return 0;
  LANISTA_CHECK(plain->size() <= std::min(kMaxBytes, formats::unpack_limit(bytes.size())),
                "more was unpacked than is allowed");
  const auto unpacked = formats::decode_idx(*plain);
  LANISTA_CHECK(!tensor || (unpacked.ok() && *unpacked == *tensor), "unpacking first changes the array");
  return 0;
}
