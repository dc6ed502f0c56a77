#include "lanista/app/cli/worker.h"

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/ipc/elsewhere.h"
#include "lanista/exec/pipeline_parallel/stage_process.h"
#include "lanista/engine/local/worker_process.h"

namespace lanista::cli {

int work(const std::string& socket) {
  const auto done = engine::work_for_engine(socket, runtime::worker_of_process(nn::Operators()));
  return done ? static_cast<int>(kDone) : report(done.error());
}

int serve_stages_over_streams() {
  const auto done = runtime::serve_stages(engine::take_standard_streams());
  return done ? static_cast<int>(kDone) : report(done.error());
}

int work_over_streams() {
  return engine::watch_over([] {
    const auto done =
        engine::work_for_engine(engine::take_standard_streams(), runtime::worker_of_process(nn::Operators()));
    return done ? static_cast<int>(kDone) : report(done.error());
  });
}

}  // namespace lanista::cli
