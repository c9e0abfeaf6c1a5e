#include "workloads/profile/chrome_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/error.hpp"
#include "workloads/profile/text_file.hpp"

namespace gangway::profile {
namespace {

constexpr std::int64_t kLatestMicrosecond = 4'000'000'000'000'000;  // in 2096; sums of two stay in range

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What a key of "args" stands for; kArguments: nothing.
std::size_t argument_of(std::string_view key) {
  using enum Argument;
  static constexpr std::array<std::pair<std::string_view, Argument>, kArguments> kKeys{
      {{"correlation", correlation},
       {"stream", stream},
       {"context", context},
       {"device", device},
       {"bytes", bytes},
       {"registers per thread", registers},
       {"shared memory", shared_memory},
       {"graph id", graph},
       {"graph node id", node},
       {"priority", priority},
       {"event_id", event},
       {"wait_on_stream", wait_on_stream},
       {"wait_on_cuda_event_id", wait_on_event},
       {"wait_on_cuda_event_record_corr_id", wait_on_record}}};
  for (const auto& [name, argument] : kKeys)
    if (key == name) return static_cast<std::size_t>(argument);
  return kArguments;
}

// Whole numbers as far as they are some.
std::optional<std::int64_t> whole(std::uint64_t value) {
  if (value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// A handler of nlohmann's SAX interface: nothing is kept but the event at hand.
class ChromeHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  ChromeHandler(const std::function<void(ChromeEvent&)>& each, ChromeTrace& trace)
      : each_(each), trace_(trace) {}

  bool has_events() const { return has_events_; }
  const std::string& problem() const { return problem_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool number_integer(number_integer_t value) override {
    take_number(value, nullptr);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    take_number(whole(value), nullptr);
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override {
    take_number(std::nullopt, &text);
    return true;
  }
  bool string(string_t& text) override {
    take_text(text);
    return true;
  }
  bool start_object(std::size_t) override {
    open(false);
    return true;
  }
  bool start_array(std::size_t) override {
    open(true);
    return true;
  }
  bool end_object() override {
    close();
    return true;
  }
  bool end_array() override {
    close();
    return true;
  }
  bool key(string_t& name) override {
    if (where_ == Where::root)
      key_ = name == "traceEvents"           ? Key::events
             : name == "deviceProperties"    ? Key::devices
             : name == "baseTimeNanoseconds" ? Key::base
             : name == "cupti_version"       ? Key::cupti
                                             : Key::other;
    else if (where_ == Where::event)
      key_ = event_key(name);
    else if (where_ == Where::arguments)
      argument_key(name);
    else if (where_ == Where::device)
      device_key_ = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    problem_ = error.what();
    return false;
  }

 private:
  enum class Where { nowhere, root, events, event, arguments, grid, block, devices, device, elsewhere };
  enum class Key {
    other,
    events,
    devices,
    base,
    cupti,
    phase,
    category,
    name,
    begin,
    length,
    process,
    thread,
    arguments
  };

  static Key event_key(const std::string& name) {
    if (name == "ph") return Key::phase;
    if (name == "cat") return Key::category;
    if (name == "name") return Key::name;
    if (name == "ts") return Key::begin;
    if (name == "dur") return Key::length;
    if (name == "pid") return Key::process;
    if (name == "tid") return Key::thread;
    if (name == "args") return Key::arguments;
    return Key::other;
  }
  void argument_key(const std::string& name) {
    argument_ = argument_of(name);
    is_grid_ = name == "grid";
    is_block_ = name == "block";
    is_sync_kind_ = name == "cuda_sync_kind";
    is_name_ = name == "name";
  }

  void open(bool array) {
    if (where_ == Where::elsewhere) {
      ++depth_elsewhere_;
      return;
    }
    const Where inside = next(array);
    if (inside == Where::elsewhere) {
      before_elsewhere_ = where_;
      depth_elsewhere_ = 1;
    }
    if (inside == Where::events) has_events_ = true;
    if (inside == Where::event) event_.clear();
    if (inside == Where::device) trace_.devices.emplace_back();
    coordinate_ = 0;
    where_ = inside;
  }
  Where next(bool array) {
    using enum Where;
    switch (where_) {
      case nowhere:
        bare_ = array;
        return array ? events : root;
      case root:
        if (array && key_ == Key::events) return events;
        if (array && key_ == Key::devices) return devices;
        return elsewhere;
      case events:
        return array ? elsewhere : event;
      case event:
        return !array && key_ == Key::arguments ? arguments : elsewhere;
      case arguments:
        if (array && is_grid_) return grid;
        if (array && is_block_) return block;
        return elsewhere;
      case devices:
        return array ? elsewhere : device;
      default:
        return elsewhere;
    }
  }
  void close() {
    using enum Where;
    switch (where_) {
      case elsewhere:
        if (--depth_elsewhere_ == 0) where_ = before_elsewhere_;
        return;
      case event:
        each_(event_);
        where_ = events;
        return;
      case arguments:
        where_ = event;
        return;
      case grid:
      case block:
        where_ = arguments;
        return;
      case device:
        where_ = devices;
        return;
      case events:
        where_ = bare_ ? nowhere : root;
        return;
      case devices:
        where_ = root;
        return;
      default:
        where_ = nowhere;
    }
  }

  // A number that is whole, or the text of one that is not.
  void take_number(std::optional<std::int64_t> value, const std::string* text) {
    switch (where_) {
      case Where::event:
        if (key_ == Key::begin || key_ == Key::length) {
          take_time(text != nullptr ? nanoseconds(*text) : value ? in_ns(*value) : std::nullopt);
        } else if ((key_ == Key::process || key_ == Key::thread) && value) {
          (key_ == Key::process ? event_.process : event_.thread) = std::to_string(*value);
        }
        return;
      case Where::arguments:
        if (argument_ < kArguments) event_.arguments[argument_] = value;
        return;
      case Where::grid:
        take_coordinate(event_.grid, value);
        return;
      case Where::block:
        take_coordinate(event_.block, value);
        return;
      case Where::device:
        if (value) take_property(*value);
        return;
      case Where::root:
        if (key_ == Key::base) trace_.base = value;
        if (key_ == Key::cupti) trace_.cupti = value.value_or(0);
        return;
      default:
        return;
    }
  }
  void take_text(std::string& text) {
    if (where_ == Where::event) {
      // The parser allows its strings to be taken away.
      if (key_ == Key::phase) event_.phase.swap(text);
      if (key_ == Key::category) event_.category.swap(text);
      if (key_ == Key::name) event_.name.swap(text);
      if (key_ == Key::process) event_.process.swap(text);
      if (key_ == Key::thread) event_.thread.swap(text);
      if (key_ == Key::begin || key_ == Key::length) take_time(nanoseconds(text));
    } else if (where_ == Where::arguments) {
      if (is_sync_kind_)
        event_.sync_kind.swap(text);
      else if (is_name_)
        event_.named.swap(text);
    } else if (where_ == Where::device) {
      if (device_key_ == "name") trace_.devices.back().gpu.name = text;
    }
  }
  void take_time(std::optional<std::int64_t> ns) {
    if (!ns) event_.senseless = true;
    if (key_ == Key::length) {
      event_.length = ns;
    } else if (ns) {
      event_.begin = *ns;
      event_.has_begin = true;
    }
  }
  static std::optional<std::int64_t> in_ns(std::int64_t microseconds) {
    if (microseconds > kLatestMicrosecond || microseconds < -kLatestMicrosecond) return std::nullopt;
    return microseconds * 1'000;
  }
  void take_coordinate(recording::Dim& dim, std::optional<std::int64_t> value) {
    std::uint32_t* const places[] = {&dim.x, &dim.y, &dim.z};
    if (coordinate_ < 3 && value && *value >= 0 && *value <= UINT32_MAX)
      *places[coordinate_] = static_cast<std::uint32_t>(*value);
    ++coordinate_;
  }
  void take_property(std::int64_t value) {
    ChromeTrace::Device& device = trace_.devices.back();
    const auto small = [&] {
      return value >= 0 && value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : 0U;
    };
    if (device_key_ == "id") device.id = value;
    if (device_key_ == "numSms") device.gpu.sms = small();
    if (device_key_ == "computeMajor") device.gpu.major = small();
    if (device_key_ == "computeMinor") device.gpu.minor = small();
    if (device_key_ == "totalGlobalMem") device.gpu.memory = Bytes{std::max<std::int64_t>(0, value)};
  }

  const std::function<void(ChromeEvent&)>& each_;
  ChromeTrace& trace_;
  ChromeEvent event_;
  Where where_ = Where::nowhere, before_elsewhere_ = Where::nowhere;
  Key key_ = Key::other;
  std::size_t argument_ = kArguments, depth_elsewhere_ = 0, coordinate_ = 0;
  bool is_grid_ = false, is_block_ = false, is_sync_kind_ = false, is_name_ = false;
  bool bare_ = false, has_events_ = false;
  std::string device_key_, problem_;
};

}  // namespace

void ChromeEvent::clear() {
  for (std::string* text : {&phase, &category, &name, &process, &thread, &sync_kind, &named}) text->clear();
  begin = 0;
  length.reset();
  arguments.fill(std::nullopt);
  grid = block = {0, 0, 0};
  has_begin = senseless = false;
}

std::optional<std::int64_t> nanoseconds(std::string_view text) {
  if (text.find_first_of("eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(std::abs(value) < kLatestMicrosecond))
      return std::nullopt;
    return std::llround(value * 1'000);
  }
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::int64_t ns = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    ns = 10 * ns + (text[digits] - '0');
    if (ns > kLatestMicrosecond) return std::nullopt;
  }
  const std::string_view rest = text.substr(digits);
  if (digits == 0 || (!rest.empty() && (rest[0] != '.' || rest.size() == 1))) return std::nullopt;
  for (std::size_t place = 1; place <= 3; ++place)
    ns = 10 * ns + (place < rest.size() ? rest[place] - '0' : 0);
  for (std::size_t place = 1; place < rest.size(); ++place)
    if (!is_digit(rest[place])) return std::nullopt;
  if (rest.size() > 4 && rest[4] >= '5') ++ns;
  return negative ? -ns : ns;
}

ChromeTrace read_chrome_trace(const std::filesystem::path& file,
                              const std::function<void(ChromeEvent&)>& each) {
  TextFile text(file);
  ChromeTrace trace;
  ChromeHandler handler(each, trace);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing value -
    // invalid literal; last read: ..."
    const std::string& problem = handler.problem();
    const std::size_t from = problem.find(": "), to = problem.find("; ");
    throw InputError({file.string(), text.line()}, "profile",
                     quote(from < to ? problem.substr(from + 2, to - from - 2) : problem), "a trace in JSON");
  }
  if (!handler.has_events())
    throw InputError({file.string(), 0}, "traceEvents", "nothing",
                     "a list of events, as PyTorch's profiler writes it");
  return trace;
}

}  // namespace gangway::profile
