// What a program links by the driver (cuLink...): the result of a link of one PTX text and nothing else is
// that text's module, whose forms may have been prepared.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/intercept/forms/real_calls.hpp"

namespace gangway::intercept {

class LinkedModules {
 public:
  // Call these after the driver's calls that succeeded, gone() before. `same_code`: the call's options say
  // nothing of the code.
  void begun(CUlinkState link, bool same_code);
  // A PTX text, or none: another input.
  void added(CUlinkState link, std::optional<std::string> ptx, bool same_code);
  void made(CUlinkState link, const void* image);
  void gone(CUlinkState link);
  // The text of which an image was linked, among the latest ones; none: it was not, or not of it alone.
  std::optional<std::string> text_of(std::string_view image);

 private:
  static constexpr std::size_t kMost = 256;

  struct Link {
    bool usable = false;
    std::optional<std::string> ptx;
  };
  std::mutex mutex_;
  std::map<CUlinkState, Link> links_;
  std::vector<std::pair<std::string, std::string>> texts_;  // with the image's SHA-256, latest last
};

}  // namespace gangway::intercept
