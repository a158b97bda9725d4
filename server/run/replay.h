#pragma once

#include <iosfwd>
#include <string>

namespace pliant::server {

// Options of `pliantd replay` and `pliantd export`.
struct ReplayArguments {
  std::string file;         // the recording
  std::string scene;        // in place of the one in the recording; empty: that one
  std::string scenes_dir;   // of scenes that come with the server
  std::string json;         // of replay: file, "-" for `out`; empty: a line for people on `out`
  std::string out_folder;   // of export
  double fields_rate = 50;  // of export: frames per simulated second; 0: every step; negative: none
};

// Steps the world of a recording again and compares its states with those that were recorded.
// Returns an ExitStatus: kRunFault when a state differs or the file is damaged, kInvalidScene when
// it is not a recording or its scene cannot be built.
int Replay(const ReplayArguments& arguments, std::ostream& out, std::ostream& err);

// Writes the probes and fields of a recording, as a run of its scene does, into `out_folder`; those
// after each reset or restore into its subfolders 2, 3, ….
int Export(const ReplayArguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
