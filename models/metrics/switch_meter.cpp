#include "models/metrics/switch_meter.hpp"

namespace gangway {

void SwitchMeter::reset() {
  owners_.fill({});
  first_release_.reset();
}

void SwitchMeter::account(Owner& owner, Time now) {
  if (owner.since) switching_ns_ += static_cast<double>((now - *owner.since).ns);
  owner.since.reset();
}

void SwitchMeter::record(const Record& record) {
  Owner& owner = owners_[record.gpu];
  switch (record.mark) {
    case Mark::released:
      if (!first_release_) first_release_ = record.time;
      return;
    case Mark::launch_ordered:
      launched_ = true;
      owner = {record.launch, record.time};
      return;
    case Mark::started:
      if (record.launch == owner.launch) account(owner, record.time);
      return;
    case Mark::gone:
      if (record.launch == owner.launch) owner.since = record.time;
      return;
    case Mark::left:
      if (record.launch != owner.launch) return;
      account(owner, record.time);
      owner = {};
      return;
    case Mark::ended:
      for (Owner& each : owners_) account(each, record.time);
      if (first_release_)
        all_ns_ += static_cast<double>(gpus_) * static_cast<double>((record.time - *first_release_).ns);
      return;
    default:
      return;
  }
}

std::optional<double> SwitchMeter::share() const {
  return launched_ && all_ns_ > 0 ? std::optional(switching_ns_ / all_ns_) : std::nullopt;
}

}  // namespace gangway
