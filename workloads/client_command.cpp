#include "workloads/client_command.hpp"

#include <filesystem>

namespace gangway {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_words(const Field& field) {
  if (field.is_scalar()) field.fail("a list of words: [python3, train.py, --steps, 100]");
  std::vector<std::string> words;
  for (const Field& word : field.items()) {
    if (!word.is_scalar()) word.fail("a word");
    words.push_back(words.empty() ? word.text() : word.node().scalar);  // an argument may be empty
  }
  return words;
}

std::string read_jobs(const Field& field) {
  const std::string text = field.text();
  if (text != "sync" && (!text.starts_with("nvtx:") || text == "nvtx:")) field.fail("sync or nvtx:NAME");
  return text;
}

}  // namespace

std::shared_ptr<const Command> read_command(const Field& field) {
  auto command = std::make_shared<Command>();
  fs::path folder = fs::path(".") / fs::path(field.node().origin().file).parent_path();
  if (!field.is_mapping()) {
    command->words = read_words(field);
  } else {
    Mapping m = field.mapping();
    command->words = read_words(m.need("run"));
    if (auto skip = m.maybe("skip")) command->skip = static_cast<std::uint32_t>(skip->integer(0, 1'000'000));
    if (auto jobs = m.maybe("jobs")) command->jobs = read_jobs(*jobs);
    if (auto in = m.maybe("folder")) folder /= in->text();
    m.finish();
  }
  command->folder = fs::absolute(folder).lexically_normal().string();
  return command;
}

}  // namespace gangway
