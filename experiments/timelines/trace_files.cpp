#include "experiments/timelines/trace_files.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "experiments/results/files.hpp"
#include "models/quantity.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// Compressed, of experiments of all kinds: from 5 to 40.
constexpr double kBytesPerEvent = 15;

// In whole numbers, for people.
std::string size_text(double bytes) {
  constexpr double kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kMiB * kKiB;
  if (bytes >= kGiB) return fmt::format("{:.1f} GiB", bytes / kGiB);
  if (bytes >= kMiB) return fmt::format("{:.0f} MiB", bytes / kMiB);
  return fmt::format("{:.0f} KiB", bytes / kKiB);
}

// Whether the limit ended it; it says so at its beginning.
bool is_cut(const fs::path& file) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> in(gzopen(file.c_str(), "rb"), gzclose_r);
  std::string head(std::size_t{1} << 16, '\0');
  const int size = in ? gzread(in.get(), head.data(), static_cast<unsigned>(head.size())) : 0;
  head.resize(static_cast<std::size_t>(std::max(size, 0)));
  return head.find(R"("full_at_ns":)") != std::string::npos;
}

}  // namespace

double estimated_trace_size(double events) { return kBytesPerEvent * events; }

std::uint64_t read_trace_limit(const std::string& text) {
  Bytes size;
  ParseFailure why;
  if (!parse(text, size, why) || size < Bytes{1})
    throw InputError({"--trace-limit", 0}, "--trace-limit", quote(text),
                     "a size above zero, such as '1 GiB'");
  return static_cast<std::uint64_t>(size.count);
}

TraceFiles::TraceFiles(const Experiment& experiment, const PointSet& points, ResultParts& parts,
                       std::uint64_t limit, Say say)
    : experiment_(experiment), points_(points), parts_(parts), limit_(limit), say_(std::move(say)) {}

std::string TraceFiles::name(const Unit& unit) const { return "trace/" + trace_name(experiment_, unit, 0); }

fs::path TraceFiles::file(const Unit& unit) const { return parts_.path() / name(unit); }

template <typename Visit>
void TraceFiles::each(Visit visit) const {
  for (const auto& [first, last] : points_.ranges())
    for (std::uint32_t p = first; p <= last; ++p)
      for (std::uint32_t q = 0; q < experiment_.points.policies_at(p); ++q)
        if (!visit(Unit{p, q, 0})) return;
}

bool TraceFiles::complete() const {
  bool all = true;
  each([&](const Unit& unit) { return all = has(unit); });
  return all;
}

void TraceFiles::announce(double events) const {
  std::size_t missing = 0;
  each([&](const Unit& unit) {
    if (!has(unit)) ++missing;
    return true;
  });
  const double runs = static_cast<double>(experiment_.points.groups().of(points_)) *
                      experiment_.replications * permutation_count(experiment_, experiment_.points[0]);
  const double size = estimated_trace_size(events / runs) * static_cast<double>(missing);
  if (size > static_cast<double>(kMuch))
    say_(fmt::format("--trace: about {} in {} {} of {}, of which --trace-limit allows {}", size_text(size),
                     missing, missing == 1 ? "file" : "files", (parts_.path() / "trace").string(),
                     size_text(static_cast<double>(limit_))));
}

bool TraceFiles::make_missing(const WorldEntry& world, const std::atomic<bool>& stop, bool only_lost) {
  make_folder(parts_.path() / "trace");
  std::size_t left_out = 0;
  bool stopped = false;
  each([&](const Unit& unit) {
    if (only_lost && !parts_.lost(name(unit))) return true;
    if (has(unit)) {
      if (!is_cut(file(unit))) return true;
      full_ = full_ || left() == 0;
      if (full_) return true;
      std::error_code error;
      fs::remove(file(unit), error);  // written again, as now there may be more room
    } else if (full_ && !parts_.lost(name(unit))) {
      ++left_out;
      return true;
    }
    parts_.expect(name(unit));
    const TraceEnd end = write_chrome_trace(experiment_, world, unit, 0, file(unit), left(), stop);
    stopped = stop;
    if (!stopped) tell(end, unit);
    return !stopped;
  });
  if (left_out > 0)
    say_(fmt::format("--trace: {} more {} left out: the limit of {} is reached", left_out,
                     left_out == 1 ? "timeline is" : "timelines are",
                     size_text(static_cast<double>(limit_))));
  return !stopped;
}

std::unique_ptr<ChromeTrace> TraceFiles::record(const Unit& unit) {
  make_folder(parts_.path() / "trace");
  parts_.expect(name(unit));
  return std::make_unique<ChromeTrace>(experiment_, unit, 0, file(unit), left());
}

void TraceFiles::finish(ChromeTrace& trace, const Unit& unit) { tell(trace.finish(), unit); }

void TraceFiles::tell(const TraceEnd& end, const Unit& unit) {
  full_ = full_ || !end.written || end.full_at;
  if (end.written) parts_.list(name(unit));
  const std::string path = file(unit).string(), limit = size_text(static_cast<double>(limit_));
  if (!end.written)
    say_(fmt::format("{}: omitted, because the --trace-limit of {} is reached", path, limit));
  else if (end.full_at)
    say_(fmt::format("{}: ends at {}, because the --trace-limit of {} is reached", path,
                     to_text(*end.full_at - Time{}), limit));
}

std::uint64_t TraceFiles::left() const {
  std::uint64_t used = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts_.path() / "trace", error))
    if (entry.path().filename().string().starts_with("point-")) used += entry.file_size(error);
  return used < limit_ ? limit_ - used : 0;
}

}  // namespace gangway
