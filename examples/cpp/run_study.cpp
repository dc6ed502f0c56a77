// Runs a small study on the embedded digits and prints its trials, best first: run_study FOLDER
#include <lanista/lanista.h>

#include <iostream>

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: run_study FOLDER\n";
    return 2;
  }
  const std::string folder = arguments[1];

  lanista::Study study;
  study.set("model.base", "[builtin:small-mlp]").set("budget.trials", "4").set("train.epochs", "3");

  lanista::RunOptions options;
  options.observer = [](const lanista::ProgressEvent& event) {
    if (event.kind != lanista::ProgressEvent::Kind::kTrialEnded) return;
    std::cerr << "trial " << event.trial << " " << event.text << "\n";
  };
  const lanista::Result<lanista::RunSummary> summary = lanista::run(study, folder, options);
  if (!summary) {
    std::cerr << summary.error().text() << "\n";
    return 1;
  }

  const lanista::Result<lanista::StudyResult> result = lanista::read_study(folder);
  if (!result) {
    std::cerr << result.error().text() << "\n";
    return 1;
  }
  for (const std::int64_t number : result->ranking) {
    const lanista::Trial& trial = result->trials[static_cast<std::size_t>(number - 1)];
    std::cout << "trial " << number << "  val_accuracy " << trial.result->metrics.at("val_accuracy");
    for (const auto& [name, value] : trial.hyper_parameters) std::cout << "  " << name << " " << value;
    std::cout << "\n";
  }
  for (const auto& [metric, value] : result->test) std::cout << metric << " " << value << "\n";
  return 0;
}
