// Apart from calls of the assembler: programs that look their modules up need it, too.
#include <algorithm>
#include <array>
#include <sstream>

#include "hw/transform/ptxas/assembler.hpp"

namespace gangway::transform {

std::vector<std::string> assembler_options(std::string_view fatbin_options) {
  constexpr std::array kAlone{"-g",
                              "--device-debug",
                              "--dont-merge-basicblocks",
                              "-no-bb-merge",
                              "--return-at-end",
                              "-ret-end",
                              "--disable-optimizer-constants",
                              "-disable-optimizer-consts",
                              "--optimize-float-atomics",
                              "-opt-fp-atomics"};
  // With a value, joined by "=" or in the next word.
  constexpr std::array kValued{"-maxrregcount",
                               "--maxrregcount",
                               "-fmad",
                               "--fmad",
                               "-O",
                               "--opt-level",
                               "-dlcm",
                               "--def-load-cache",
                               "-dscm",
                               "--def-store-cache",
                               "-flcm",
                               "--force-load-cache",
                               "-fscm",
                               "--force-store-cache",
                               "-regUsageLevel",
                               "--register-usage-level",
                               "-allow-expensive-optimizations",
                               "--allow-expensive-optimizations"};
  std::istringstream words{std::string(fatbin_options)};
  std::vector<std::string> out;
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const bool level = word.size() == 3 && word.starts_with("-O");
    if (level || std::find(kAlone.begin(), kAlone.end(), word) != kAlone.end()) {
      out.push_back(word);
    } else if (std::find(kValued.begin(), kValued.end(), name) != kValued.end()) {
      std::string value;
      if (word == name && words >> value) word += (name == "-O" ? "" : "=") + value;
      out.push_back(word);
    }
  }
  return out;
}

}  // namespace gangway::transform
