#pragma once

/// `Result<T>` (a value or an `Error`), the kinds of errors (`Code`), and the macros LANISTA_TRY and LANISTA_ASSIGN,
/// which return an error to the caller.
///
/// Functions of lanista return expected failures and do not throw them. To read the absent side of a `Result` is a bug
/// of the program and throws `InternalError`.

#include "lanista/base/result.h"
