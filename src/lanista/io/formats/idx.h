#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// The array in the bytes of an IDX file (the format of MNIST), plain or packed by gzip. u8 becomes kU8; i8, i16 and
/// i32 become kI32; floats become kF32 and kF64. The file is big-endian. Errors: kDataLoss with the rule (magic, type,
/// rank, sizes that do not fit the payload); kResourceExhausted for gzip data above unpack_limit().
Result<Tensor> decode_idx(std::string_view bytes);

/// The bytes of a plain IDX file with the array. The name is not written. Errors: kInvalidArgument (i64 elements; rank
/// 0 or above 8; a size beyond 32 bits).
Result<std::string> encode_idx(const Tensor& tensor);

}  // namespace lanista::formats
