#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// Reads a NumPy .npy file (versions 1 to 3; both byte orders; bool, u1, i1–i8, u2–u4, f2, f4, f8; C and Fortran order)
/// into a row-major tensor: integers up to 32 bit as kI32 (u4 and i8 as kI64), floats as kF32 (f8 as kF64), bool and u1
/// as kU8. Object and structured dtypes are refused (they hide pickles). Errors: kDataLoss naming the rule;
/// kUnimplemented for other dtypes.
Result<Tensor> decode_npy(std::string_view bytes);

std::string encode_npy(const Tensor& tensor);

}  // namespace lanista::formats
