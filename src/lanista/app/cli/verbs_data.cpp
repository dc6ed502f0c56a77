#include "lanista/app/cli/data_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

constexpr const char* kSourceHelp = "Source as in a study file: kind:path?option=value.";

void add_ls(CLI::App& data, int& code) {
  auto json = std::make_shared<bool>(false);
  auto& verb = *data.add_subcommand("ls", "List built-in data and the kinds of sources.");
  verb.add_flag("--json", *json, "Print JSON.");
  verb.footer(examples({"lanista data ls"}));
  verb.callback([json, &code] { code = list_data(*json); });
}

void add_check(CLI::App& data, int& code) {
  auto request = std::make_shared<DataCheckRequest>();
  auto& verb = *data.add_subcommand("check", "Read a data set, print its content and warnings; train nothing.");
  verb.add_option("source", request->source, kSourceHelp)->required();
  verb.add_flag("--json", request->json, "Print JSON.");
  verb.footer(examples({"lanista data check 'csv:flats.csv?target=price'", "lanista data check folder:photos"}));
  verb.callback([request, &code] { code = check_data(*request); });
}

void add_part(CLI::App& verb, std::string& part) {
  verb.add_option("--part", part, "Part of the default split (default: " + part + ").")
      ->check(CLI::IsMember({"train", "validation", "test", "all"}));
}

void add_rows(CLI::App& data, int& code) {
  auto request = std::make_shared<DataRowsRequest>();
  auto& verb = *data.add_subcommand("rows", "Print the row numbers of a part, from 0, one a line.");
  verb.add_option("source", request->source, kSourceHelp)->required();
  add_part(verb, request->part);
  verb.footer(examples({"lanista data rows 'csv:flats.csv?target=price' --part test"}));
  verb.callback([request, &code] { code = list_rows(*request); });
}

void add_export(CLI::App& data, int& code) {
  auto request = std::make_shared<DataExportRequest>();
  auto& verb = *data.add_subcommand("export", "Write a data set in another format.");
  verb.add_option("source", request->source, kSourceHelp)->required();
  add_part(verb, request->part);
  verb.add_option("--csv", request->csv, "CSV file.");
  verb.add_option("--npy", request->npy, "Folder for x.npy and y.npy.");
  verb.add_option("--idx", request->idx, "Folder for files in MNIST's format.");
  verb.add_option("--folder", request->folder, "Folder for PNG images, with one folder a class.");
  verb.footer(examples({"lanista data export builtin:digits --folder pictures",
                        "lanista data export builtin:digits --npy arrays --part test"}));
  verb.callback([request, &code] { code = export_data(*request); });
}

}  // namespace

void add_data_verbs(CLI::App& app, int& code) {
  auto& data = *app.add_subcommand("data", "Data sets: ls, check, rows, export.");
  data.require_subcommand(1);
  data.footer(examples({"lanista data ls", "lanista data check csv:flats.csv"}));
  add_ls(data, code);
  add_check(data, code);
  add_rows(data, code);
  add_export(data, code);
}

}  // namespace lanista::cli
