// A program of the tests whose kernels can leave before their end: uses the driver, knows nothing of Gangway.
// Its kernels have no host twins, so the stand-in carries their PTX out. forms_client MODE [NUMBER or FILE]
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/live/forms_client/modes.hpp"

int main(int argc, char** argv) {
  using gangway::forms_client::Gpu, gangway::forms_client::Mode;
  const auto mode = Mode::all().find(argc > 1 ? argv[1] : "passes");
  if (mode == Mode::all().end()) return 2;
  Gpu gpu(std::getenv("FORMS_PTX"));
  const int code = mode->second(gpu, argc > 2 ? argv[2] : "10");
  // Whoever wants the last status of this program makes it stay: it writes this file, and ends when it is
  // gone.
  if (const char* stays = std::getenv("FORMS_STAYS")) {
    std::ofstream{stays};
    while (std::filesystem::exists(stays)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return code;
}
