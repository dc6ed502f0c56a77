// NumPy archives: each array that is read can be written as a file of its own, and reads as the same.
#include "lanista/io/formats/npz.h"

#include "fuzz.h"
#include "lanista/io/formats/npy.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  auto tensors = formats::decode_npz(fuzz::as_text(data, size));
  if (!tensors) return 0;
  for (Tensor& tensor : *tensors) {
    tensor.name.clear();
    const auto again = formats::decode_npy(formats::encode_npy(tensor));
    LANISTA_CHECK(again.ok() && *again == tensor, "an array changes when it is written and read");
  }
  return 0;
}
