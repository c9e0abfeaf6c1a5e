#include "models/metrics/switch_meter.hpp"

#include <algorithm>

namespace gangway {

void SwitchMeter::reset() {
  owners_.fill({});
  for (auto& launches : there_) launches.clear();
  first_release_.reset();
  open_ = 0;
  run_ns_ = at_last_over_ = 0;
  last_over_ = {};
}

void SwitchMeter::settle_all(Time now) {
  for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(gpus_); ++gpu) settle(gpu, now);
}

// Accounts for the time since the last record of the GPU.
void SwitchMeter::settle(std::size_t gpu, Time now) {
  Owner& owner = owners_[gpu];
  if (owner.since) run_ns_ += static_cast<double>((now - *owner.since).ns);
  owner.since.reset();
  if (owner.switching && there_[gpu].empty()) owner.since = now;
}

void SwitchMeter::record(const Record& record) {
  Owner& owner = owners_[record.gpu];
  std::vector<There>& there = there_[record.gpu];
  const bool owns = record.launch == owner.launch;
  switch (record.mark) {
    case Mark::released:
      if (!first_release_) first_release_ = record.time;
      ++open_;
      return;
    case Mark::launch_ordered:
      launched_ = true;
      settle(record.gpu, record.time);
      owner = {record.launch, true};
      break;
    case Mark::started:
    case Mark::resumed:
      there.push_back({record.launch, record.job});
      if (owns && record.mark == Mark::started) owner.switching = false;
      break;
    case Mark::paused:
    case Mark::gone:
      std::erase_if(there, [&](const There& t) { return t.launch == record.launch; });
      if (owns && record.mark == Mark::gone) owner.switching = true;
      break;
    case Mark::left:
      if (!owns) return;
      owner.switching = false;
      break;
    case Mark::killed:  // what it had there is gone, and nothing else says so
    case Mark::program_ended:
      for (std::vector<There>& launches : there_)
        std::erase_if(launches, [&](const There& t) { return t.job == record.job; });
      [[fallthrough]];
    case Mark::finished:
    case Mark::refused:
      --open_;
      settle_all(record.time);
      at_last_over_ = run_ns_;
      last_over_ = record.time;
      return;
    case Mark::ended: {
      settle_all(record.time);
      if (!first_release_) return;
      const bool unfinished = open_ > 0;
      const Duration window = (unfinished ? record.time : last_over_) - *first_release_;
      switching_ns_ += unfinished ? run_ns_ : at_last_over_;
      all_ns_ += static_cast<double>(gpus_) * static_cast<double>(window.ns);
      return;
    }
    default:
      return;
  }
  settle(record.gpu, record.time);
  if (record.mark == Mark::left) owner.launch = {};
}

std::optional<double> SwitchMeter::share() const {
  return launched_ && all_ns_ > 0 ? std::optional(switching_ns_ / all_ns_) : std::nullopt;
}

}  // namespace gangway
