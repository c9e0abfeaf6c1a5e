// Bounds-checked reading of untrusted bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace gangway::transform {

class ByteView {
 public:
  ByteView() = default;
  explicit ByteView(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes() const { return bytes_; }
  std::uint64_t size() const { return bytes_.size(); }

  // `size` bytes from `offset`. None if they exceed the view.
  std::optional<ByteView> part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return ByteView(bytes_.substr(offset, size));
  }

  // A little-endian number, or structure of numbers.
  template <typename Value>
  std::optional<Value> at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::optional<ByteView> found = part(offset, sizeof(Value));
    if (!found) return std::nullopt;
    Value value;
    std::memcpy(&value, found->bytes_.data(), sizeof value);
    return value;
  }

  // The text from `offset` to a NUL. None without a NUL.
  std::optional<std::string_view> text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return std::nullopt;
    const std::size_t end = bytes_.find('\0', offset);
    if (end == std::string_view::npos) return std::nullopt;
    return bytes_.substr(offset, end - offset);
  }

 private:
  std::string_view bytes_;
};

}  // namespace gangway::transform
