// CIFAR batches: labels and pixels fit the number of records. The first byte of the input selects the kind.
#include "lanista/io/formats/cifar.h"

#include <algorithm>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  if (size == 0) return 0;
  const auto kind = data[0] % 2 == 0 ? formats::CifarKind::k10 : formats::CifarKind::k100;
  const auto file = formats::decode_cifar(fuzz::as_text(data + 1, size - 1), kind);
  if (!file) return 0;
  const std::size_t rows = file->labels.size();
  const bool fine = kind == formats::CifarKind::k100;
  LANISTA_CHECK(rows > 0 && file->pixels.size() == rows * 3072, "pixels do not fit the records");
  LANISTA_CHECK(file->coarse.size() == (fine ? rows : 0), "coarse labels do not fit the records");
  LANISTA_CHECK(rows * (fine ? 3074 : 3073) == size - 1, "records do not fill the file");
  LANISTA_CHECK(std::ranges::all_of(file->labels, [&](int l) { return l < (fine ? 100 : 10); }), "label out of range");
  return 0;
}
