// Processes, threads and GPUs of an export of Nsight Systems, numbered as in a profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "workloads/profile/profile.hpp"
#include "workloads/profile/profile_tables.hpp"

namespace gangway::profile {

// Serialised ids: 8 bits of hardware, 8 of the virtual machine, 24 of the process, 24 of the thread.
inline constexpr int kThreadBits = 24;
inline constexpr std::int64_t kIdMask = (1 << kThreadBits) - 1;

class NsysOwners {
 public:
  // Adds requested rows to the profile.
  NsysOwners(ProfileTables& tables, Profile& profile) : p_(profile) { devices(tables); }

  Index process(std::int64_t global) {
    const std::int64_t key = global >> kThreadBits;
    const auto [place, is_new] = processes_.try_emplace(key, static_cast<Index>(p_.processes.size()));
    if (is_new) {
      processes_of_pids_.try_emplace(key & kIdMask, place->second);
      p_.processes.push_back({static_cast<std::uint32_t>(key & kIdMask), {}});
    }
    return place->second;
  }
  Index process_or_none(std::optional<std::int64_t> global) {
    return global && *global > 0 ? process(*global) : kNone;
  }
  Index process_of_pid(std::int64_t pid) const {
    const auto known = processes_of_pids_.find(pid);
    return known != processes_of_pids_.end() ? known->second : kNone;
  }
  Index thread(std::int64_t global) {
    const auto [place, is_new] = threads_.try_emplace(global, static_cast<Index>(p_.threads.size()));
    if (is_new) p_.threads.push_back({process(global), static_cast<std::uint32_t>(global & kIdMask), {}});
    return place->second;
  }
  Index gpu(Index of, std::int64_t device) {
    std::int64_t id = device;
    if (of != kNone)
      if (const auto known = gpu_ids_.find({p_.processes[of].pid, device}); known != gpu_ids_.end())
        id = known->second;
    const auto [place, is_new] = gpus_.try_emplace(id, static_cast<Index>(p_.gpus.size()));
    if (is_new) p_.gpus.emplace_back();
    return place->second;
  }

  // kNone if unknown.
  Index known_thread(std::int64_t global) const { return known(threads_, global); }
  Index known_process(std::int64_t global) const { return known(processes_, global >> kThreadBits); }
  Index known_gpu(std::int64_t id) const { return known(gpus_, id); }

 private:
  template <typename Numbers>
  static Index known(const Numbers& numbers, std::int64_t key) {
    const auto found = numbers.find(key);
    return found != numbers.end() ? found->second : kNone;
  }

  // Devices are numbered per process.
  void devices(ProfileTables& tables) {
    for (TableRows t(tables, "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"}, 0); t.next();)
      if (const auto pid = t.number(0), cuda = t.number(1), gpu = t.number(2); pid && cuda && gpu)
        gpu_ids_[{*pid, *cuda}] = *gpu;
  }

  Profile& p_;
  std::unordered_map<std::int64_t, Index> threads_;
  std::map<std::int64_t, Index> processes_, processes_of_pids_, gpus_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpu_ids_;
};

}  // namespace gangway::profile
