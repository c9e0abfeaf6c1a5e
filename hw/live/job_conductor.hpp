// Common to conductors that grant the device to jobs: which job of each client the policy knows, and how it
// learns that a job arrives, continues or ends.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hw/live/conductor.hpp"

namespace gangway::live {

class JobConductor : public Conductor {
 protected:
  struct ToldJob {
    bool told = false;          // Arrived, and not over yet
    std::uint64_t job = 0;      // on the client's page
    std::uint64_t granted = 0;  // the latest that was granted the device, likewise
    std::uint32_t jobs = 0;
  };
  JobConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal, GrantOf of)
      : Conductor(std::move(policy), settings, journal, of), jobs_(kMostClients) {}

  // Tells the policy about the job of a client that is present and does not own the device.
  void look_at_job(const Client& client);
  // Whether the job that the client was granted the device for is over.
  bool job_over(const Client& client) const;

  // Whether somebody other than the client waits for the GPU that it is on.
  bool others_wait(ClientId than);
  // The client's job under way is granted the device.
  void granted(const Client& client);
  // The latest job that may submit while the client's gate is open. Whoever begins its next job at once would
  // have begun it before anybody saw that the one before was over.
  std::uint64_t last_job(ClientId client);
  void limit_jobs(std::optional<ClientId> open);  // of the client whose gate is open

  // Whether a job under way has work for the device again.
  virtual bool can_be_launched(const Client& client) const;
  // Adds what else the policy is told of a new job.
  virtual void describe(JobFacts&, const Client&) const {}
  // The policy is about to hear of the client's job.
  virtual void about_to_tell(const Client&) {}

  std::vector<ToldJob> jobs_;  // by client

 private:
  void arrive(const Client& client, ToldJob& job);
};

}  // namespace gangway::live
