#include "hw/intercept/forms/linked_modules.hpp"

#include <algorithm>

#include "hw/transform/images/image_in_memory.hpp"
#include "models/hash.hpp"

namespace gangway::intercept {

void LinkedModules::begun(CUlinkState link, bool same_code) {
  const std::lock_guard lock(mutex_);
  links_[link] = {same_code, {}};
}

void LinkedModules::added(CUlinkState link, std::optional<std::string> ptx, bool same_code) {
  const std::lock_guard lock(mutex_);
  const auto its = links_.find(link);
  if (its == links_.end()) return;
  const bool only = ptx.has_value() && !its->second.ptx.has_value();
  its->second.usable = its->second.usable && same_code && only;
  if (ptx) its->second.ptx = std::move(ptx);
}

void LinkedModules::made(CUlinkState link, const void* image) {
  const std::string_view bytes = transform::bytes_of_image(image);
  const std::lock_guard lock(mutex_);
  const auto its = links_.find(link);
  if (bytes.empty() || its == links_.end() || !its->second.usable || !its->second.ptx) return;
  std::string hash = sha256_of(bytes);
  std::erase_if(texts_, [&](const auto& each) { return each.first == hash; });
  if (texts_.size() >= kMost) texts_.erase(texts_.begin());
  texts_.emplace_back(std::move(hash), *its->second.ptx);
}

void LinkedModules::gone(CUlinkState link) {
  const std::lock_guard lock(mutex_);
  links_.erase(link);
}

std::optional<std::string> LinkedModules::text_of(std::string_view image) {
  const std::lock_guard lock(mutex_);
  if (texts_.empty() || image.empty()) return std::nullopt;
  const std::string hash = sha256_of(image);
  for (const auto& [its, text] : texts_)
    if (its == hash) return text;
  return std::nullopt;
}

}  // namespace gangway::intercept
