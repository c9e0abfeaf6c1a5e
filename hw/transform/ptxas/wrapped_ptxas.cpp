#include "hw/transform/ptxas/wrapped_ptxas.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hw/program.hpp"
#include "hw/scratch_folder.hpp"
#include "hw/transform/images/forms_note.hpp"
#include "hw/transform/ptxas/assembler.hpp"
#include "hw/transform/ptxas/captured_program.hpp"
#include "hw/transform/ptxas/ptxas_call.hpp"
#include "hw/transform/ptxas/refused_forms.hpp"
#include "hw/transform/rewrite.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

struct Replaced {
  std::string original, file;
  Rewritten rewritten;
};

int call_as_it_is(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int refused = 0;
  const int status = run_program(command, refused);
  return refused != 0 ? refused : end_alike(status);
}

// Messages name the file that the caller knows.
std::string with_original_names(std::string text, const std::vector<Replaced>& files) {
  for (const Replaced& each : files)
    for (std::size_t at = text.find(each.file); at != std::string::npos;
         at = text.find(each.file, at + each.original.size()))
      text.replace(at, each.file.size(), each.original);
  return text;
}

// By the input's name.
using RefusedInputs = std::map<std::string, RefusedForms>;

// Writes rewritten texts into the folder and their names into the arguments. Those without a form stay.
std::vector<Replaced> rewrite_inputs(const PtxasCall& call, const std::string& folder, RefusedInputs& refused,
                                     std::vector<std::string>& arguments) {
  const Compilation compilation = call.relocatable ? Compilation::relocatable : Compilation::whole;
  std::vector<Replaced> out;
  for (const std::size_t input : call.inputs) {
    std::ostringstream text;
    text << std::ifstream(call.arguments[input], std::ios::binary).rdbuf();
    Rewritten rewritten = rewrite(text.str(), compilation, refused[call.arguments[input]].excluded());
    std::vector<KernelForms> with_forms;
    for (const KernelForms& kernel : rewritten.kernels)
      if (!kernel.forms.empty()) with_forms.push_back(kernel);
    if (with_forms.empty()) continue;
    // ptxas may be given two files of one name.
    const std::string place = folder + "/" + std::to_string(out.size());
    std::filesystem::create_directory(place);
    const std::string file = place + "/" + std::filesystem::path(call.arguments[input]).filename().string();
    std::ofstream written(file, std::ios::binary);
    written << rewritten.text << forms_note(rewritten.kernels, compilation);
    if (!written.flush()) throw RunError(file + ": it cannot be written");
    arguments[input] = file;
    out.push_back({call.arguments[input], file, std::move(rewritten)});
  }
  return out;
}

// What is said of one file, or of none.
std::string said_of(const Replaced& file, const std::vector<Replaced>& files, const std::string& said) {
  std::istringstream lines(said);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.find(file.file) != std::string::npos ||
        std::none_of(files.begin(), files.end(),
                     [&](const Replaced& each) { return line.find(each.file) != std::string::npos; }))
      out += line + "\n";
  return out;
}

void say_compiled(const std::string& file, const char* how, const std::string& why) {
  std::fprintf(stderr, "gangway: %s is compiled %s of its kernels: %s\n", file.c_str(), how, why.c_str());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool is_called_ptxas(const char* program) {
  return program != nullptr && std::filesystem::path(program).filename() == "ptxas";
}

int wrapped_ptxas(const std::vector<std::string>& arguments, const std::atomic<bool>& interrupted) {
  const auto real = find_assembler();
  if (!real) throw RunError("NVIDIA's ptxas was not found (set GANGWAY_PTXAS to its path)");
  const PtxasCall call = read_ptxas_call(arguments);
  if (!call.whole || call.inputs.empty()) return call_as_it_is(real->program, arguments);
  RefusedInputs refused;
  std::string first, first_file;  // what was said of all forms
  for (bool again = true; again;) {
    again = false;
    const ScratchFolder folder;
    std::vector<std::string> command{real->program}, replaced = call.arguments;
    const std::vector<Replaced> files = rewrite_inputs(call, folder.path(), refused, replaced);
    if (files.empty()) {
      if (!first.empty()) say_compiled(first_file, "without forms", first);
      break;
    }
    command.insert(command.end(), replaced.begin(), replaced.end());
    const Captured done = run_captured(command, &interrupted);
    if (done.interrupted) return 130;
    const std::string out = with_original_names(done.out, files),
                      error = with_original_names(done.error, files);
    if (done.started && WIFEXITED(done.status) && WEXITSTATUS(done.status) == 0) {
      std::fputs(out.c_str(), stdout);
      std::fputs(error.c_str(), stderr);
      if (!first.empty()) say_compiled(first_file, "without some forms", first);
      return 0;
    }
    if (done.started && WIFSIGNALED(done.status)) return 128 + WTERMSIG(done.status);
    if (first.empty()) {
      first = first_line(error.empty() ? out : error);
      first_file = files.front().original;
    }
    for (const Replaced& each : files)
      if (refused[each.original].note(each.rewritten, said_of(each, files, done.error + done.out)))
        again = true;
    if (!again)
      for (const Replaced& each : files) again |= refused[each.original].without_loops(each.rewritten);
    // Whose fault it is shows in what follows: the original's complaints, or none.
    if (!again) say_compiled(first_file, "without forms", first);
  }
  return call_as_it_is(real->program, arguments);
}

}  // namespace gangway::transform
