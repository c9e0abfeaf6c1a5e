#include "sim/memory/device_memory.hpp"

#include <fmt/format.h>

namespace gangway {

DeviceMemory::DeviceMemory(const WorldSetup& setup, JobBook& book) : setup_(&setup), book_(&book) {
  for (const Client& client : setup.workload.clients)
    states_.push_back({state_sizes(client), client.memory, client.native, false, false});
}

void DeviceMemory::reset() {
  room_ = setup_->device.memory;
  for (std::uint32_t c = 0; c < states_.size(); ++c) {
    states_[c].launched = states_[c].changed = false;
    book_->of({ClientId{c}, 0}).residence = Residence::absent;
    if (states_[c].native) room_.count -= states_[c].footprint.count;
  }
  book_->set_room(room_);
}

std::string DeviceMemory::refusal(JobId job, Direction direction) const {
  if (job.client.index >= states_.size()) return "a save or restore of an unknown job";
  const JobFacts& facts = book_->job(job);
  if (facts.id != job || facts.finished()) return "a save or restore of a job that is not in progress";
  if (direction == Direction::save)
    return facts.residence == Residence::resident ? "" : "a save of a state that is not on the device";
  if (facts.residence != Residence::absent) return "a restore of a state that is on the device";
  if (states_[job.client.index].footprint > room_)
    return fmt::format("a restore of {} with {} left", to_text(states_[job.client.index].footprint),
                       to_text(room_));
  return "";
}

std::string DeviceMemory::launch_refusal(JobId job) const {
  return book_->job(job).residence == Residence::resident
             ? ""
             : "a launch of a job whose state is not on the device";
}

Bytes DeviceMemory::begin(JobId job, Direction direction) {
  State& state = states_[job.client.index];
  if (direction == Direction::save) {
    book_->of(job).residence = Residence::saving;
    return state.changed ? state.sizes.save : Bytes{};
  }
  book_->of(job).residence = Residence::restoring;
  room_.count -= state.footprint.count;
  book_->set_room(room_);
  return state.launched ? state.sizes.restore : state.sizes.first_restore;
}

void DeviceMemory::end(JobId job, Direction direction) {
  states_[job.client.index].changed = false;
  if (direction == Direction::save)
    give(job.client);
  else
    book_->of(job).residence = Residence::resident;
}

void DeviceMemory::launched(JobId job) {
  State& state = states_[job.client.index];
  state.launched = state.changed = true;
}

void DeviceMemory::leaving(JobId job) { book_->of(job).residence = Residence::saving; }

bool DeviceMemory::free(JobId job) {
  State& state = states_[job.client.index];
  state.launched = state.changed = false;
  if (book_->job(job).residence == Residence::absent) return false;
  give(job.client);
  return true;
}

Bytes DeviceMemory::held(ClientId client) const {
  return book_->job({client, 0}).residence == Residence::absent ? Bytes{} : states_[client.index].footprint;
}

void DeviceMemory::give(ClientId client) {
  room_.count += states_[client.index].footprint.count;
  book_->of({client, 0}).residence = Residence::absent;
  book_->set_room(room_);
}

}  // namespace gangway
