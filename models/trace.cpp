#include "models/trace.hpp"

#include <fmt/format.h>

#include "models/gpu_rules.hpp"

namespace gangway {

std::string name_of(Mark mark) {
  switch (mark) {
    case Mark::released:
      return "released";
    case Mark::copy_begins:
      return "copy begins";
    case Mark::copy_ends:
      return "copy ends";
    case Mark::eligible:
      return "eligible";
    case Mark::submitted:
      return "submitted";
    case Mark::access:
      return "access";
    case Mark::killed:
      return "killed";
    case Mark::refused:
      return "refused";
    case Mark::program_ended:
      return "program ended";
    case Mark::launch_ordered:
      return "launch ordered";
    case Mark::started:
      return "started";
    case Mark::paused:
      return "paused";
    case Mark::resumed:
      return "resumed";
    case Mark::evict_ordered:
      return "evict ordered";
    case Mark::gone:
      return "gone";
    case Mark::left:
      return "left";
    case Mark::issued:
      return "issued";
    case Mark::queued:
      return "queued";
    case Mark::held:
      return "held";
    case Mark::dequeued:
      return "dequeued";
    case Mark::finished:
      return "finished";
    case Mark::holds:
      return "holds memory";
    case Mark::merged:
      return "merged";
    case Mark::told_to_leave:
      return "told to leave";
    case Mark::kernels_left:
      return "kernels left";
    case Mark::kernels_go_on:
      return "kernels go on";
    case Mark::on_host:
      return "on host";
    case Mark::awaits_gpu:
      return "awaits GPU";
    case Mark::decided:
      return "decided";
    case Mark::ended:
      return "ended";
  }
  return "";
}

std::string name_of(Why why) {
  switch (why) {
    case Why::completed:
      return "completed";
    case Why::evicted:
      return "evicted";
    case Why::budget:
      return "budget";
    case Why::killed:
      return "killed";
    case Why::idle:
      return "idle";
  }
  return "";
}

std::string describe(const Record& record, const std::string& client) {
  std::string more;
  if (record.mark == Mark::left) more = ", " + name_of(record.why);
  if (record.mark == Mark::held) more = " by " + name_of(static_cast<Rule>(record.amount));
  const std::string where = record.gpu > 0 ? fmt::format(" on GPU {}", record.gpu) : "";
  return fmt::format("{} ns  {} job {} {} {} launch {}{}: {}{} ({})", record.time.ns, client,
                     record.job.number, record.copy ? "copy" : "kernel", record.kernel, record.launch.value,
                     where, name_of(record.mark), more, record.amount);
}

}  // namespace gangway
