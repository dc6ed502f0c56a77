#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// Reads an IDX file (the format of MNIST), gzip-packed or plain: u8 as kU8, i8, i16 and i32 as kI32, floats as kF32
/// and kF64; big-endian on disk. Errors: kDataLoss naming the rule (magic, type, rank, sizes whose product is not the
/// payload); kResourceExhausted for bombs.
Result<Tensor> decode_idx(std::string_view bytes);

/// The plain file. Errors: kInvalidArgument (i64 elements; rank 0 or above 8; a size beyond 32 bits).
Result<std::string> encode_idx(const Tensor& tensor);

}  // namespace lanista::formats
