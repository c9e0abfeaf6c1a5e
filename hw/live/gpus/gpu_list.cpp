#include "hw/live/gpus/gpu_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "models/error.hpp"
#include "models/utf8.hpp"

namespace gangway::live {
std::string text_of(const GpuUuid& uuid) {
  if (uuid == kNoGpu) return {};
  std::string text = "GPU-";
  for (std::size_t b = 0; b < uuid.size(); ++b)
    text += fmt::format("{}{:02x}", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "", uuid[b]);
  return text;
}

std::vector<GpuFacts> gpus_of_driver() { return gpus_of(driver_facts()); }

std::vector<GpuFacts> gpus_of(const DriverFacts& driver) {
  std::vector<GpuFacts> all;
  for (const DriverGpu& gpu : driver.gpus) {
    const auto number = static_cast<unsigned>(all.size());
    if (gpu.uuid == kNoGpu || gpu.memory == 0)
      throw RunError(fmt::format("the CUDA driver does not say what GPU {} is", number));
    all.push_back({number, gpu.uuid, gpu.name, gpu.memory});
  }
  if (all.empty()) throw RunError("the CUDA driver has no GPU");
  return all;
}

void check_number(const std::string& option, unsigned number, const DriverFacts& driver) {
  if (number < driver.gpus.size()) return;
  std::string all;
  for (std::size_t g = 0; g < driver.gpus.size(); ++g)
    all += fmt::format("{}{} ({})", g == 0 ? "" : ", ", g, in_one_line(driver.gpus[g].name));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  throw InputError(
      {option, 0}, "gpu", quote(std::to_string(number)),
      fmt::format(
          "a GPU that the driver has here{}: {}",
          visible == nullptr ? "" : fmt::format(", with CUDA_VISIBLE_DEVICES={}", in_one_line(visible)),
          all));
}

bool one_gpu(const std::string& list) { return list.find(',') == std::string::npos && list != "all"; }

std::vector<GpuFacts> chosen_gpus(const std::string& option, const std::string& list,
                                  const std::vector<GpuFacts>& all) {
  if (list == "all") return all;
  const auto refuse = [&](const std::string& found) {
    throw InputError(
        {option, 0}, "gpu", found,
        fmt::format("all, or different numbers from 0 to {} with commas between them", all.size() - 1));
  };
  std::vector<GpuFacts> chosen;
  std::istringstream parts(list + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number >= all.size()) refuse(quote(part));
    if (std::any_of(chosen.begin(), chosen.end(), [&](const GpuFacts& g) { return g.number == number; }))
      refuse(fmt::format("GPU {} a second time", number));
    chosen.push_back(all[number]);
  }
  return chosen;
}

}  // namespace gangway::live
