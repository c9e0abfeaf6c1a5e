#include "cli/interrupt.hpp"

#include <csignal>

namespace gangway {
namespace {
std::atomic<bool> interrupted = false;
}

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace gangway
