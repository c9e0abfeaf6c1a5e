#include "hw/child_process.hpp"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace gangway {

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::none_of(more.begin(), more.end(),
                     [&](const std::string& other) { return other.starts_with(name); }))
      all.emplace_back(text);
  }
  return all;
}

int start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment, int in,
                int out, pid_t& child) {
  std::vector<char*> words, variables;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  words.push_back(nullptr);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  if (in >= 0) posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int code = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

}  // namespace gangway
