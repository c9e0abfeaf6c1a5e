// A recording's calls and works as columns in a file that is mapped into memory: decoded once, then read by
// any number of simulations at once, page by page as they come to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "models/recording/recording.hpp"

namespace gangway::recording {

class Columns {
 public:
  // Maps the columns of a recording, which are kept as FILE.columns beside it, and made where there are none,
  // or others than this recording's. Where that folder cannot be written they are made anew each time, in
  // memory. InputError as read_recording.
  explicit Columns(const std::filesystem::path& recording);
  ~Columns();
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

  // By call, in their order. Times are nanoseconds from the origin.
  std::span<const std::int64_t> call_begin, call_end;
  std::span<const Index> call_thread, call_function, call_job;  // job: or kNone
  std::span<const Index> first_work;                            // of a call; one more than there are calls
  // By work, in the order of their calls.
  std::span<const std::int64_t> work_begin, work_end;
  std::span<const Index> work_call, work_stream, work_shape;
  std::span<const std::uint8_t> work_kind;  // WorkKind
  // By order, likewise.
  std::span<const Index> order_call, order_place, order_recorded;
  std::span<const std::uint8_t> order_kind;  // OrderKind

 private:
  bool map(const std::filesystem::path& file, std::uint64_t identity);
  bool sound() const;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gangway::recording
