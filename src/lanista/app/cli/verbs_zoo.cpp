#include "lanista/app/cli/verbs.h"
#include "lanista/app/cli/zoo_verbs.h"

namespace lanista::cli {
namespace {

void add_common(CLI::App& verb, std::string& zoo, bool& json) {
  zoo = "zoo";
  verb.add_option("--zoo", zoo, "folder of the zoo (default: zoo)");
  verb.add_flag("--json", json, "JSON on stdout");
}

void add_model(CLI::App& verb, ZooModel& model) {
  verb.add_option("model", model.target, "package, DIR, DIR#TRIAL, MODEL.onnx, or weights.safetensors with --graph")
      ->required();
  verb.add_option("--graph", model.graph, "text of the graph that the safetensors belong to");
  verb.add_option("--task-of", model.task_of, "package or study whose data the model is for (default: its own)");
}

void add_ls(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooRequest>();
  auto& verb = *zoo.add_subcommand("ls", "the models, by task, the best first");
  add_common(verb, request->zoo, request->json);
  verb.footer(examples({"lanista zoo ls", "lanista zoo ls --zoo models --json"}));
  verb.callback([request, &code] { code = zoo_list(*request); });
}

void add_add(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooAddRequest>();
  auto& verb = *zoo.add_subcommand("add", "put a trained model into the zoo");
  add_model(verb, request->model);
  add_common(verb, request->zoo, request->json);
  verb.add_option("--quality", request->quality,
                  "what it reached, larger is better (default: what its package says of the validation part)")
      ->check(number_between(-1e300, 1e300));
  verb.add_option("--replicas", request->replicas, "most models of one structure and task (default: 3)")
      ->check(integer_between(1, 1'000'000));
  verb.footer(examples({"lanista zoo add studies/digits-1", "lanista zoo add studies/digits-1#12 --zoo models",
                        "lanista zoo add net.onnx --task-of studies/digits-1 --quality 0.97"}));
  verb.callback([request, &code] { code = zoo_add(*request); });
}

void add_match(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooMatchRequest>();
  auto& verb = *zoo.add_subcommand("match", "from which model a new one would start, and how; changes nothing");
  add_model(verb, request->model);
  add_common(verb, request->zoo, request->json);
  verb.add_flag("--related", request->related,
                "where the task has nothing, also models of other data of the same form");
  verb.footer(
      examples({"lanista zoo match studies/digits-2#3", "lanista zoo match net.onnx --task-of studies/digits-1"}));
  verb.callback([request, &code] { code = zoo_match(*request); });
}

template <class Run>
void add_of_id(CLI::App& zoo, int& code, const char* name, const char* help, const char* example, Run run, bool pins) {
  auto request = std::make_shared<ZooRequest>();
  auto& verb = *zoo.add_subcommand(name, help);
  verb.add_option("id", request->id, "a model's id, or enough of its beginning")->required();
  add_common(verb, request->zoo, request->json);
  if (pins) {
    auto* pin = verb.add_flag("--pin", request->pin, "never evict or replace it");
    verb.add_flag("--unpin", request->unpin, "evict or replace it as others")->excludes(pin);
  }
  verb.footer(examples({example}));
  verb.callback([request, run, &code] { code = run(*request); });
}

void add_verify(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooRequest>();
  auto& verb =
      *zoo.add_subcommand("verify", "read everything and compare it with its hashes; exit 3 if something is damaged");
  add_common(verb, request->zoo, request->json);
  verb.footer(examples({"lanista zoo verify"}));
  verb.callback([request, &code] { code = zoo_verify(*request); });
}

void add_gc(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooGcRequest>();
  auto& verb =
      *zoo.add_subcommand("gc", "remove files that belong to no model; with a budget evict models until it fits");
  add_common(verb, request->zoo, request->json);
  verb.add_option("--budget", request->budget, "MiB that weights may take")->check(number_between(0, 1e12));
  verb.footer(examples({"lanista zoo gc", "lanista zoo gc --budget 500"}));
  verb.callback([request, &code] { code = zoo_gc(*request); });
}

}  // namespace

void add_zoo_verbs(CLI::App& app, int& code) {
  auto& zoo = *app.add_subcommand("zoo", "trained models as starts of new ones: list, add, match, show, remove");
  zoo.require_subcommand(1);
  zoo.footer(examples({"lanista zoo add studies/digits-1", "lanista zoo match studies/digits-2#3"}));
  add_ls(zoo, code);
  add_add(zoo, code);
  add_match(zoo, code);
  add_of_id(zoo, code, "show", "one model in full", "lanista zoo show 1f0c", zoo_show, true);
  add_of_id(zoo, code, "rm", "remove a model", "lanista zoo rm 1f0c", zoo_remove, false);
  add_verify(zoo, code);
  add_gc(zoo, code);
}

}  // namespace lanista::cli
