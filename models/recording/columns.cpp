#include "models/recording/columns.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "models/error.hpp"
#include "models/recording/file.hpp"

namespace gangway::recording {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic = 0x31736c6f63727767;  // "gwrcols1"
constexpr std::size_t kColumns = 16;

struct Head {
  std::uint64_t magic = kMagic, identity = 0;  // of the recording
  std::uint64_t calls = 0, works = 0, orders = 0;
};

// Bytes of each column, in the order in which they stand in the file. Each begins at a multiple of 8.
std::array<std::size_t, kColumns> sizes_of(const Head& h) {
  return {8 * h.calls,  8 * h.calls,  4 * h.calls,  4 * h.calls, 4 * h.calls, 4 * (h.calls + 1),
          8 * h.works,  8 * h.works,  4 * h.works,  4 * h.works, 4 * h.works, h.works,
          4 * h.orders, 4 * h.orders, 4 * h.orders, h.orders};
}

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// FNV-1a of the recording's identity.
std::uint64_t short_identity(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

template <typename Value, typename Row, typename Get>
void put(std::string& out, const std::vector<Row>& rows, Get get) {
  for (const Row& row : rows) {
    const Value value = static_cast<Value>(get(row));
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  out.resize(padded(out.size()));
}

std::string columns_of(const Recording& r, std::uint64_t identity) {
  const Head head{kMagic, identity, r.calls.size(), r.works.size(), r.orders.size()};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  put<std::int64_t>(out, r.calls, [](const Call& c) { return c.begin.ns; });
  put<std::int64_t>(out, r.calls, [](const Call& c) { return c.end().ns; });
  put<Index>(out, r.calls, [](const Call& c) { return c.thread; });
  put<Index>(out, r.calls, [](const Call& c) { return c.function; });
  put<Index>(out, r.calls, [](const Call& c) { return c.job; });
  std::vector<Index> first(r.calls.size() + 1);
  for (const Work& w : r.works) ++first[w.call + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  put<Index>(out, first, [](Index i) { return i; });
  put<std::int64_t>(out, r.works, [](const Work& w) { return w.begin.ns; });
  put<std::int64_t>(out, r.works, [](const Work& w) { return w.end().ns; });
  put<Index>(out, r.works, [](const Work& w) { return w.call; });
  put<Index>(out, r.works, [](const Work& w) { return w.stream; });
  put<Index>(out, r.works, [](const Work& w) { return w.shape; });
  put<std::uint8_t>(out, r.works, [](const Work& w) { return w.kind; });
  put<Index>(out, r.orders, [](const Order& o) { return o.call; });
  put<Index>(out, r.orders, [](const Order& o) { return o.place; });
  put<Index>(out, r.orders, [](const Order& o) { return o.recorded; });
  put<std::uint8_t>(out, r.orders, [](const Order& o) { return o.kind; });
  return out;
}

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Whether it is there now. Others may be doing the same.
bool keep(const fs::path& file, const std::string& text) {
  std::string made = file.string() + ".XXXXXX";
  const int out = mkostemp(made.data(), O_CLOEXEC);
  if (out < 0) return false;
  const bool whole = write_all(out, text);
  close(out);
  if (whole && rename(made.c_str(), file.c_str()) == 0) return true;
  unlink(made.c_str());
  return false;
}

}  // namespace

Columns::Columns(const fs::path& recording) {
  const std::uint64_t identity = short_identity(recording_identity(recording));
  const fs::path file = recording.string() + ".columns";
  if (map(file, identity)) return;
  const std::string text = columns_of(read_recording(recording), identity);
  if (keep(file, text) && map(file, identity)) return;
  const int memory = memfd_create("gangway-columns", MFD_CLOEXEC);
  const bool mapped =
      memory >= 0 && write_all(memory, text) && map("/proc/self/fd/" + std::to_string(memory), identity);
  if (memory >= 0) close(memory);
  if (!mapped) throw RunError("no memory for the columns of " + recording.string());
}

Columns::~Columns() {
  if (data_ != nullptr) munmap(data_, size_);
}

// Whether the file has this recording's columns, whole and sound.
bool Columns::map(const fs::path& path, std::uint64_t identity) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  Head head;
  const bool has_head = fstat(file, &status) == 0 && read(file, &head, sizeof head) == sizeof head &&
                        head.magic == kMagic && head.identity == identity &&
                        std::max({head.calls, head.works, head.orders}) < kNone;
  std::size_t size = sizeof head;
  if (has_head)
    for (const std::size_t bytes : sizes_of(head)) size += padded(bytes);
  void* data = MAP_FAILED;
  if (has_head && static_cast<std::size_t>(status.st_size) == size)
    data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (data == MAP_FAILED) return false;
  if (data_ != nullptr) munmap(data_, size_);
  data_ = data;
  size_ = size;
  const char* at = static_cast<const char*>(data) + sizeof head;
  const auto next = [&]<typename Value>(std::span<const Value>& column, std::size_t count) {
    column = {reinterpret_cast<const Value*>(at), count};
    at += padded(count * sizeof(Value));
  };
  next(call_begin, head.calls);
  next(call_end, head.calls);
  next(call_thread, head.calls);
  next(call_function, head.calls);
  next(call_job, head.calls);
  next(first_work, head.calls + 1);
  next(work_begin, head.works);
  next(work_end, head.works);
  next(work_call, head.works);
  next(work_stream, head.works);
  next(work_shape, head.works);
  next(work_kind, head.works);
  next(order_call, head.orders);
  next(order_place, head.orders);
  next(order_recorded, head.orders);
  next(order_kind, head.orders);
  return sound();
}

// What leads from one column to another stays inside it. That they lead to the right places is the identity's
// business.
bool Columns::sound() const {
  const std::size_t calls = call_begin.size(), works = work_begin.size();
  const auto inside = [&](std::span<const Index> column, bool or_none) {
    return std::all_of(column.begin(), column.end(),
                       [&](Index call) { return call < calls || (or_none && call == kNone); });
  };
  return first_work.front() == 0 && first_work.back() == works &&
         std::is_sorted(first_work.begin(), first_work.end()) && inside(work_call, false) &&
         inside(order_call, false) && inside(order_recorded, true);
}

}  // namespace gangway::recording
