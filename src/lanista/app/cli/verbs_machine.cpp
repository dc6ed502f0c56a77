#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/completion.h"
#include "lanista/app/cli/doctor.h"
#include "lanista/app/cli/manual.h"
#include "lanista/app/cli/verbs.h"
#include "lanista/app/cli/worker.h"

namespace lanista::cli {

void add_machine_verbs(CLI::App& app, int& code) {
  auto [doctor_verb, json] = add_verb<bool>(app, code, "doctor", "Print what this machine has and what limits a run.",
                                            {"lanista doctor"}, doctor);
  doctor_verb.add_flag("--json", json, "Print JSON.");

  auto& bench_verb = *app.add_subcommand("bench", "Run a benchmark (lanista-bench).");
  bench_verb.add_option("arguments", "Arguments of lanista-bench, as lanista bench --help lists them.");

  auto socket = std::make_shared<std::string>();
  auto streams = std::make_shared<bool>(false);
  auto& worker_verb = *app.add_subcommand("worker", "Train as a worker process of a study; the study starts it.");
  auto* at = worker_verb.add_option("--socket", *socket, "Socket of the study's engine.");
  worker_verb.add_flag("--stdio", *streams, "Use standard input and output instead of a socket.")->excludes(at);
  worker_verb.footer(examples({"lanista worker --socket studies/digits-1/control/workers.sock"}));
  worker_verb.callback([socket, streams, &code] {
    if (socket->empty() && !*streams) throw CLI::RequiredError("--socket or --stdio");
    code = *streams ? run_worker_over_streams() : run_worker(*socket);
  });

  auto& stage_verb = *app.add_subcommand("stage", "Run stages of a pipeline; a worker with run.pipeline starts it.");
  stage_verb.group("");  // not for users
  stage_verb.footer(
      "Receives messages from the worker on standard input "
      "(docs/internals/pipeline-parallelism.md).");
  stage_verb.callback([&code] { code = run_stages_over_streams(); });

  auto shell = std::make_shared<std::string>();
  auto& completion_verb =
      *app.add_subcommand("completion", "Print a script that completes verbs and options in a shell.");
  completion_verb.add_option("shell", *shell, "Shell: bash, zsh or fish.")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion_verb.footer(examples({"source <(lanista completion bash)", "lanista completion zsh > ~/.zfunc/_lanista",
                                   "lanista completion fish > ~/.config/fish/completions/lanista.fish"}));
  completion_verb.callback([shell, &app, &code] {
    std::cout << completion_script(app, *shell);
    code = kDone;
  });

  auto& man_verb = *app.add_subcommand("man", "Print the manual page in roff.");
  man_verb.footer(examples({"lanista man | man -l -", "lanista man > /usr/local/share/man/man1/lanista.1"}));
  man_verb.callback([&app, &code] {
    std::cout << manual_page(app);
    code = kDone;
  });
}

}  // namespace lanista::cli
