#include "experiments/timelines/trace_events.hpp"

namespace gangway {
namespace {

double as_microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

void TraceEvents::emit(const Json& event) {
  const std::string text = (first_ ? "\n" : ",\n") + event.dump();
  first_ = false;
  full_ = full_ || !file_.fits(text.size() + reserve_);
  file_.write(text);
}

void TraceEvents::process(int pid, const std::string& name) {
  emit({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"tid", 0}, {"args", {{"name", name}}}});
}

void TraceEvents::thread(int pid, int tid, const std::string& name) {
  emit({{"ph", "M"}, {"name", "thread_name"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
  emit({{"ph", "M"},
        {"name", "thread_sort_index"},
        {"pid", pid},
        {"tid", tid},
        {"args", {{"sort_index", tid}}}});
}

void TraceEvents::span(int pid, int tid, const std::string& name, Time from, Time until, const Json& args) {
  Json event{{"ph", "X"},
             {"name", name},
             {"pid", pid},
             {"tid", tid},
             {"ts", as_microseconds(from.ns)},
             {"dur", as_microseconds((until - from).ns)}};
  if (!args.is_null()) event["args"] = args;
  emit(event);
}

void TraceEvents::instant(int pid, int tid, const std::string& name, Time at, const Json& args) {
  emit({{"ph", "i"},
        {"s", "t"},
        {"name", name},
        {"pid", pid},
        {"tid", tid},
        {"ts", as_microseconds(at.ns)},
        {"args", args}});
}

void TraceEvents::counter(int pid, const std::string& name, Time at, const Json& values) {
  emit({{"ph", "C"},
        {"name", name},
        {"pid", pid},
        {"tid", 0},
        {"ts", as_microseconds(at.ns)},
        {"args", values}});
}

}  // namespace gangway
