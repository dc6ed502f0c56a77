#include "lanista/engine/core/study_context.h"

#include <utility>

#include "lanista/engine/core/frozen_part.h"

namespace lanista::engine {

StudyContext::StudyContext(std::string study_folder, Services engine_services, store::LogWriter log_writer,
                           StudyState folded_state, std::shared_ptr<const mutate::ModelSpace> model_space)
    : folder(std::move(study_folder)),
      files(engine_services.fs->confined_to(folder)),
      services(std::move(engine_services)),
      log(std::move(log_writer)),
      state(std::move(folded_state)),
      models(std::move(model_space)),
      checkpoints(store::CheckpointStore(*files, folder)) {
  services.fs = files.get();
}

void StudyContext::event(Level level, const std::string& name, nlohmann::json fields) const {
  if (services.sink) services.sink->write({services.clock->unix_time(), level, name, std::move(fields)});
}

FrozenPart StudyContext::frozen() const {
  return frozen_part(state.view.config, *services.data, models.space().frozen(), state.view.frozen);
}

double StudyContext::attempt_seconds() const { return services.clock->now() - attempt_start_seconds; }

}  // namespace lanista::engine
