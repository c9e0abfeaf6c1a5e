// Rows of a client's recording that others refer to, copied from the profile on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workloads/profile/profile.hpp"

namespace gangway::profile {

class ProfiledRows {
 public:
  // For one process. Arguments must outlive this object, which writes to the recording. `origin`: the
  // profile's time of the recording's 0.
  ProfiledRows(const Profile& profile, Index process, std::int64_t origin, recording::Recording& recording);

  const Profile& profile() const { return p_; }
  Index process() const { return process_; }
  recording::Recording& recording() { return r_; }
  std::int64_t origin() const { return origin_; }

  // Whether a thread of the profile belongs to the process.
  bool is_mine(Index thread) const { return p_.threads[thread].process == process_; }
  // Converts a time of the profile.
  Time at(std::int64_t time) const { return Time{time - origin_}; }

  // The recording's row for one of the profile.
  Index thread(Index of);
  Index gpu(Index of) { return taken(gpus_, of, p_.gpus, r_.gpus); }
  Index function(Index of) { return taken(functions_, of, p_.functions, r_.functions); }
  Index launch(Index of) { return taken(launches_, of, p_.launches, r_.launches); }
  Index range_name(Index of) { return taken(range_names_, of, p_.range_names, r_.range_names); }
  // The stream of a work, with its context.
  Index stream(const Work& work);
  // A stream may record events or be waited for before its first work. kNone if its context is unknown.
  Index stream_waited_for(std::uint32_t context, std::uint32_t number);

  // kNone if not in the recording.
  Index known_gpu(Index of) const { return gpus_[of]; }
  Index known_context(std::uint32_t number) const;
  Index known_stream(std::uint32_t context, std::uint32_t number) const;

 private:
  template <typename Row>
  static Index taken(std::vector<Index>& places, Index of, const std::vector<Row>& from,
                     std::vector<Row>& to) {
    if (places[of] == kNone) {
      places[of] = static_cast<Index>(to.size());
      to.push_back(from[of]);
    }
    return places[of];
  }
  void add_fact(const Stream& s);
  Index context(std::uint32_t number, Index on);
  Index stream_in(std::uint32_t context, std::uint32_t number, Index of_context);

  const Profile& p_;
  const Index process_;
  const std::int64_t origin_;
  recording::Recording& r_;
  std::vector<Index> threads_, gpus_, functions_, launches_, range_names_;  // by the profile's
  std::map<std::uint32_t, Index> contexts_;
  std::map<std::pair<Index, std::uint32_t>, Index> streams_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, recording::Stream> facts_;
};

}  // namespace gangway::profile
