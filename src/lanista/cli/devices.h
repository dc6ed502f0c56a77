#pragma once

#include "lanista/base/result.h"
#include "lanista/cli/crew.h"
#include "lanista/nn/backend.h"
#include "lanista/study/config.h"

namespace lanista::cli {

/// The backend that a crew asks for, or a study's run.devices; null: own kernels, which need none. Errors: kUnavailable
/// (it is not here), kUnimplemented (a setting that this device cannot do), each with the way out.
Result<const nn::Backend*> backend_of(const study::StudyConfig& config, const Crew& crew);

}  // namespace lanista::cli
