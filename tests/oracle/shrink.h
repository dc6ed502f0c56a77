#pragma once

#include <functional>

#include "cases.h"

namespace lanista::oracle {

/// A smaller case of which `fails` still holds: nodes are taken out, the output is moved up, inputs of joins and
/// attributes are dropped, for as long as one of these still fails, at most `tries` questions in all.
Case shrunk(Case c, const std::function<bool(const Case&)>& fails, int tries);

}  // namespace lanista::oracle
