#include "lanista/app/cli/worker.h"

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/engine/local/worker_process.h"
#include "lanista/exec/pipeline_parallel/stage_process.h"
#include "lanista/ipc/remote_launcher.h"

namespace lanista::cli {

int run_worker(const std::string& socket) {
  const auto done = engine::run_worker(socket, runtime::make_process_worker(program::Operators()));
  return done ? static_cast<int>(kDone) : print_error(done.error());
}

int run_stages_over_streams() {
  const auto done = runtime::serve_stages(engine::claim_standard_streams());
  return done ? static_cast<int>(kDone) : print_error(done.error());
}

int run_worker_over_streams() {
  return engine::run_supervised([] {
    const auto done =
        engine::run_worker(engine::claim_standard_streams(), runtime::make_process_worker(program::Operators()));
    return done ? static_cast<int>(kDone) : print_error(done.error());
  });
}

}  // namespace lanista::cli
