#include "server/main/options_file.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace pliant::server {

void AddConfigOption(CLI::App* command, std::string* config) {
  command->add_option("--config", *config, "TOML file with values for these options");
  for (CLI::Option* option : command->get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || names.front() == "help") continue;
    option->envname(absl::StrCat(
        "PLIANT_", absl::AsciiStrToUpper(absl::StrReplaceAll(names.front(), {{"-", "_"}}))));
  }
}

absl::Status ReadFromFile(const std::string& path, CLI::App* command) {
  std::ifstream file(path);
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the configuration file cannot be read; check the path"));
  }
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }

  for (const CLI::ConfigItem& item : items) {
    // skip section marks of the parser, and sections of other commands
    if (item.name == "++" || item.name == "--") continue;
    if (!item.parents.empty() && item.parents.front() != command->get_name()) continue;

    CLI::Option* option = command->get_option_no_throw(absl::StrCat("--", item.name));
    if (option == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", item.fullname(), " is not an option of `pliantd ",
                       command->get_name(), "`; see `pliantd ", command->get_name(), " --help`"));
    }
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : item.inputs) option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
    }
  }
  return absl::OkStatus();
}

}  // namespace pliant::server
