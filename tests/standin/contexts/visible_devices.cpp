#include "tests/standin/contexts/visible_devices.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/standin/engine/environment.hpp"

namespace gangway::standin {
namespace {

constexpr unsigned kNoDevice = ~0U;

unsigned named_device(const std::string& name) {
  if (name.rfind("GPU-", 0) == 0) {
    for (unsigned physical = 0; physical < machine_devices(); ++physical)
      if (name.size() > 4 && uuid_text(physical).rfind(name, 0) == 0) return physical;
    return kNoDevice;
  }
  char* end = nullptr;
  const unsigned long number = std::strtoul(name.c_str(), &end, 10);
  return !name.empty() && *end == '\0' && number < machine_devices() ? static_cast<unsigned>(number)
                                                                     : kNoDevice;
}

}  // namespace

unsigned machine_devices() {
  static const auto count = static_cast<unsigned>(environment_number("STANDIN_DEVICES", 1));
  return count;
}

CUuuid uuid_of(unsigned physical) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "gangway", 7);
  static const auto machine = static_cast<std::uint32_t>(environment_number("STANDIN_MACHINE", 0));
  std::memcpy(uuid.bytes + 11, &machine, sizeof machine);
  uuid.bytes[15] = static_cast<char>(physical);
  return uuid;
}

std::string uuid_text(unsigned physical) {
  const CUuuid uuid = uuid_of(physical);
  std::string text = "GPU-";
  for (int b = 0; b < 16; ++b) {
    char two[4];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[b])));
    text += (b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "") + std::string(two);
  }
  return text;
}

const std::vector<unsigned>& visible_devices() {
  static const std::vector<unsigned> all = [] {
    std::vector<unsigned> seen;
    const char* listed = std::getenv("CUDA_VISIBLE_DEVICES");
    if (listed == nullptr) {
      for (unsigned physical = 0; physical < machine_devices(); ++physical) seen.push_back(physical);
      return seen;
    }
    std::istringstream names(listed);
    for (std::string name; std::getline(names, name, ',');) {
      const unsigned physical = named_device(name);
      if (physical == kNoDevice) break;
      seen.push_back(physical);
    }
    return seen;
  }();
  return all;
}

}  // namespace gangway::standin
