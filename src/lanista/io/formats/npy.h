#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// The array in the bytes of a NumPy .npy file, row-major (versions 1 to 3; both byte orders; bool, u1, i1–i8, u2–u4,
/// f2, f4, f8; C and Fortran order). It has no name.
///
/// Integers up to 32 bits become kI32, but u4 and i8 become kI64. Floats become kF32, but f8 becomes kF64. bool and u1
/// become kU8. Object and structured dtypes are refused, since they may contain pickles. Errors: kDataLoss (damaged
/// bytes, with the broken rule); kUnimplemented for other dtypes.
Result<Tensor> decode_npy(std::string_view bytes);

/// The bytes of a NumPy .npy file with the array, in C order. More than kMaxNpyRank dimensions are a bug of the caller.
std::string encode_npy(const Tensor& tensor);

}  // namespace lanista::formats
