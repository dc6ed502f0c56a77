#pragma once

/// The public interface of lanista: everything that a program outside the source tree may use.
///
/// A program describes a study (study.h), trains it (run.h), reads its trials (study_result.h) and predicts with the
/// best model (model.h). docs/reference/cpp-api.md has the guide and one example. Before version 1.0 a minor version
/// may change the interface.

#include "lanista/control.h"
#include "lanista/data_info.h"
#include "lanista/exports.h"
#include "lanista/model.h"
#include "lanista/progress.h"
#include "lanista/reference.h"
#include "lanista/result.h"
#include "lanista/run.h"
#include "lanista/study.h"
#include "lanista/study_result.h"
#include "lanista/table.h"
#include "lanista/tensor.h"
#include "lanista/version.h"
#include "lanista/zoo.h"
