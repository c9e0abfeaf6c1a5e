#include "hw/calibration/two_processes.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

#include "hw/child_process.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

// A work is one line: kernels, length, pace, pause. The answer is a line for each stay, then "over", or
// "error" and what is wrong.
std::string text_of(const ProbeWork& work) {
  std::ostringstream out;
  out << work.kernels << ' ' << work.length.ns << ' ' << static_cast<int>(work.pace) << ' ' << work.pause.ns
      << ' ' << work.full << '\n';
  return out.str();
}

class Process {
 public:
  Process(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
    const int code = start_child(command, environment_with(environment), to[0], from[1], pid_);
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    if (code != 0) throw RunError(command.front() + ": " + std::strerror(code));
  }
  ~Process() {
    std::fclose(to_);
    std::fclose(from_);
    if (pid_ > 0) {
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void ask(const ProbeWork& work) {
    std::fputs(text_of(work).c_str(), to_);
    std::fflush(to_);
  }
  std::vector<ProbeStay> answer() {
    std::vector<ProbeStay> stays;
    for (;;) {
      const std::string line = next_line();
      if (line == "over") return stays;
      if (line.starts_with("error ")) throw RunError(line.substr(6));
      std::istringstream text(line);
      ProbeStay stay;
      if (!(text >> stay.kernel >> stay.begin.ns >> stay.end.ns >> stay.first >> stay.last))
        throw RunError("a process that was to use the GPU answered '" + line + "'");
      stays.push_back(stay);
    }
  }

 private:
  std::string next_line() {
    char* text = nullptr;
    std::size_t size = 0;
    const ssize_t length = getline(&text, &size, from_);
    std::string line(text != nullptr && length > 0 ? text : "");
    std::free(text);
    if (line.empty()) throw RunError("a process that was to use the GPU has ended");
    line.pop_back();
    return line;
  }

  pid_t pid_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

class TwoProcesses : public TwoContexts {
 public:
  TwoProcesses(const std::vector<std::string>& command, const std::vector<std::string>& environment)
      : first_(command, environment), second_(command, environment) {
    for (Process* process : {&first_, &second_}) process->answer();  // it has its context
  }
  std::array<std::vector<ProbeStay>, 2> run(const std::array<ProbeWork, 2>& work) override {
    first_.ask(work[0]);
    second_.ask(work[1]);
    return {first_.answer(), second_.answer()};
  }

 private:
  Process first_, second_;
};

}  // namespace

std::unique_ptr<TwoContexts> start_two_processes(const std::vector<std::string>& command,
                                                 const std::vector<std::string>& environment) {
  return std::make_unique<TwoProcesses>(command, environment);
}

void answer_for_context(std::unique_ptr<SharingProbe> (*make)()) {
  std::unique_ptr<SharingProbe> probe;
  const auto answer = [](const std::string& text) { std::cout << text << std::endl; };
  try {
    probe = make();
  } catch (const RunError& error) {
    return answer(std::string("error ") + error.what());
  }
  answer("over");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream text(line);
    ProbeWork work;
    int pace = 0;
    if (!(text >> work.kernels >> work.length.ns >> pace >> work.pause.ns >> work.full))
      return answer("error found '" + line + "'");
    work.pace = static_cast<ProbeWork::Pace>(pace);
    try {
      for (const ProbeStay& stay : probe->run(work))
        std::cout << stay.kernel << ' ' << stay.begin.ns << ' ' << stay.end.ns << ' ' << stay.first << ' '
                  << stay.last << '\n';
      answer("over");
    } catch (const RunError& error) {
      answer(std::string("error ") + error.what());
    }
  }
}

}  // namespace gangway
