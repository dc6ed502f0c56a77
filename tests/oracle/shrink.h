#pragma once

#include <functional>

#include "cases.h"

namespace lanista::oracle {

/// Returns a smaller case for which `fails` still returns true.
///
/// It removes nodes, moves the output to an earlier node, and drops inputs of joins and attributes, as long as one such
/// change still fails. It calls `fails` at most `tries` times.
Case shrunk(Case c, const std::function<bool(const Case&)>& fails, int tries);

}  // namespace lanista::oracle
