#include "hw/native/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "hw/child_process.hpp"
#include "hw/native/wire.hpp"
#include "hw/program.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace literals;

constexpr Duration kTimeToEnd = 20_s;

bool can_read(int file, int milliseconds) {
  pollfd waits{file, POLLIN, 0};
  return poll(&waits, 1, milliseconds) > 0;
}

// What comes in lines. Nothing at the end of the stream.
class Lines {
 public:
  explicit Lines(int file) : file_(file) {}

  std::optional<std::string> next() {
    for (;;) {
      if (const std::size_t end = text_.find('\n'); end != std::string::npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      if (!read_more()) return std::nullopt;
    }
  }
  // Whether there is something to read, or the stream has ended.
  bool some() const { return text_.find('\n') != std::string::npos || can_read(file_, 0); }

 private:
  bool read_more() {
    char part[65536];
    ssize_t size = 0;
    do size = read(file_, part, sizeof part);
    while (size < 0 && errno == EINTR);
    if (size <= 0) return false;
    text_.append(part, static_cast<std::size_t>(size));
    return true;
  }

  int file_;
  std::string text_;
};

// False where nobody reads it any more.
bool write_line(int file, std::string text) {
  text += '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t size = write(file, text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    done += static_cast<std::size_t>(size);
  }
  return true;
}

// What one process has been told so far.
class Answering {
 public:
  Answering(Lines& lines, const MakeNativePlayer& make) : lines_(lines), make_(make) {}

  Json answer(const Json& asked) {
    if (asked.contains("setup")) {
      setup_ = setup_from_wire(asked.at("setup"));
      player_ = make_(setup_);
      return true;
    }
    if (player_ == nullptr) throw RunError("a request before the setup");
    if (asked.contains("prepare")) {
      run_ = run_from_wire(asked.at("prepare"));
      return player_->prepare(run_), true;
    }
    if (asked.contains("play")) {
      stopped_ = false;
      measured_ = player_->play({asked.at("play").get<std::int64_t>()}, [this] { return stopped(); });
      return true;
    }
    if (asked.contains("collect")) {
      player_->collect(measured_);
      return wire(measured_);
    }
    if (asked.contains("poison")) return player_->poison(), true;
    if (asked.contains("difference")) return player_->difference();
    if (asked.contains("stop")) return nullptr;  // it came when all was over
    throw RunError("an unknown request: " + asked.dump());
  }

 private:
  // Who asked may have ended, which is a reason to stop, too.
  bool stopped() {
    if (!stopped_ && lines_.some()) {
      const auto line = lines_.next();
      stopped_ = !line || Json::parse(*line).contains("stop");
    }
    return stopped_;
  }

  Lines& lines_;
  const MakeNativePlayer& make_;
  NativeSetup setup_;
  NativeRun run_;
  std::unique_ptr<NativePlayer> player_;
  NativeMeasurement measured_;
  bool stopped_ = false;
};

}  // namespace

NativeProcess::NativeProcess(std::string whose, const std::vector<std::string>& command,
                             const std::vector<std::string>& environment)
    : whose_(std::move(whose)) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
  if (pipe2(from, O_CLOEXEC) != 0) {
    close(to[0]), close(to[1]);
    throw RunError(std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  const int code = start_child(command, environment_with(environment), to[0], from[1], pid_);
  close(to[0]), close(from[1]);
  to_ = to[1], from_ = from[0];
  if (code == 0) return;
  close(to_), close(from_);
  throw RunError(command.front() + ": " + std::strerror(code));
}

NativeProcess::~NativeProcess() {
  close(to_);
  while (can_read(from_, static_cast<int>(kTimeToEnd.ns / 1'000'000)))
    if (!read_more(0)) break;  // its end of the pipe is closed when it has ended
  close(from_);
  const auto gone = [&](int options) {
    for (;;) {
      const pid_t found = waitpid(pid_, nullptr, options);
      if (found == pid_ || (found < 0 && errno != EINTR)) return true;
      if (found == 0) return false;
    }
  };
  for (int i = 0; i < 200; ++i) {
    if (gone(WNOHANG)) return;
    usleep(10'000);
  }
  kill(pid_, SIGKILL);
  gone(0);
}

void NativeProcess::has_ended() const {
  throw RunError("the process of the native client " + whose_ + " has ended");
}

void NativeProcess::ask(const nlohmann::json& what) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const bool written = write_line(to_, what.dump());
  sigaction(SIGPIPE, &before, nullptr);
  if (!written && !can_read(from_, 0)) has_ended();  // what it said last is worth more
}

bool NativeProcess::read_more(int milliseconds) {
  if (!can_read(from_, milliseconds)) return false;
  char part[65536];
  ssize_t size = 0;
  do size = read(from_, part, sizeof part);
  while (size < 0 && errno == EINTR);
  if (size > 0) text_.append(part, static_cast<std::size_t>(size));
  return size > 0;
}

bool NativeProcess::answered(Duration limit) {
  if (text_.find('\n') != std::string::npos) return true;
  if (!can_read(from_, static_cast<int>(limit.ns / 1'000'000))) return false;
  if (!read_more(0)) has_ended();
  return text_.find('\n') != std::string::npos;
}

nlohmann::json NativeProcess::answer() {
  for (;;) {
    while (!answered(1_s)) continue;
    const std::size_t end = text_.find('\n');
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    Json said;
    try {
      said = Json::parse(line);
    } catch (const Json::exception&) {
      throw RunError("the process of the native client " + whose_ + " answered '" + line + "'");
    }
    if (said.contains("error"))
      throw RunError("native client " + whose_ + ": " + said.at("error").get<std::string>());
    return said.at("done");
  }
}

void play_as_asked(int in, int out, const MakeNativePlayer& make) {
  Lines lines(in);
  Answering answering(lines, make);
  while (const auto line = lines.next()) {
    Json said;
    try {
      const Json done = answering.answer(Json::parse(*line));
      if (done.is_null()) continue;
      said = {{"done", done}};
    } catch (const std::exception& error) {
      said = {{"error", error.what()}};
    }
    if (!write_line(out, said.dump()) || said.contains("error")) return;
  }
}

std::string gangway_program() {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  for (const fs::path& beside : {self.parent_path() / "gangway", self.parent_path() / "../gangway"})
    if (fs::is_regular_file(beside)) return fs::weakly_canonical(beside).string();
  if (const std::string found = path_of_program("gangway"); !found.empty()) return found;
  throw RunError("native clients in their own processes need the program gangway in PATH");
}

std::vector<std::string> native_process_command() {
  return {gangway_program(), "run", "--native-clients", "-"};
}

}  // namespace gangway
