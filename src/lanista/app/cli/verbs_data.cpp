#include "lanista/app/cli/data_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

constexpr const char* kSourceHelp = "kind:path?option=value, as in a study file";

void add_ls(CLI::App& data, int& code) {
  auto json = std::make_shared<bool>(false);
  auto& verb = *data.add_subcommand("ls", "the data that is built in, and the kinds that can be opened");
  verb.add_flag("--json", *json, "JSON on stdout");
  verb.footer(examples({"lanista data ls"}));
  verb.callback([json, &code] { code = list_data(*json); });
}

void add_check(CLI::App& data, int& code) {
  auto request = std::make_shared<DataCheckRequest>();
  auto& verb = *data.add_subcommand("check", "read a data set, say what is in it and what looks wrong; train nothing");
  verb.add_option("source", request->source, kSourceHelp)->required();
  verb.add_flag("--json", request->json, "JSON on stdout");
  verb.footer(examples({"lanista data check 'csv:flats.csv?target=price'", "lanista data check folder:photos"}));
  verb.callback([request, &code] { code = check_data(*request); });
}

void add_part(CLI::App& verb, std::string& part) {
  verb.add_option("--part", part, "which rows, under the default split (default: " + part + ")")
      ->check(CLI::IsMember({"train", "validation", "test", "all"}));
}

void add_rows(CLI::App& data, int& code) {
  auto request = std::make_shared<DataRowsRequest>();
  auto& verb = *data.add_subcommand("rows", "the numbers of the rows of a part, counted from 0, one a line");
  verb.add_option("source", request->source, kSourceHelp)->required();
  add_part(verb, request->part);
  verb.footer(examples({"lanista data rows 'csv:flats.csv?target=price' --part test"}));
  verb.callback([request, &code] { code = list_rows(*request); });
}

void add_export(CLI::App& data, int& code) {
  auto request = std::make_shared<DataExportRequest>();
  auto& verb = *data.add_subcommand("export", "write a data set in another format");
  verb.add_option("source", request->source, kSourceHelp)->required();
  add_part(verb, request->part);
  verb.add_option("--csv", request->csv, "one table, a file");
  verb.add_option("--npy", request->npy, "folder for x.npy and y.npy");
  verb.add_option("--idx", request->idx, "folder for files as those of MNIST");
  verb.add_option("--folder", request->folder, "folder of a folder a class with PNG images");
  verb.footer(examples({"lanista data export builtin:digits --folder pictures",
                        "lanista data export builtin:digits --npy arrays --part test"}));
  verb.callback([request, &code] { code = export_data(*request); });
}

}  // namespace

void add_data_verbs(CLI::App& app, int& code) {
  auto& data = *app.add_subcommand("data", "data sets: list, check, convert");
  data.require_subcommand(1);
  data.footer(examples({"lanista data ls", "lanista data check csv:flats.csv"}));
  add_ls(data, code);
  add_check(data, code);
  add_rows(data, code);
  add_export(data, code);
}

}  // namespace lanista::cli
