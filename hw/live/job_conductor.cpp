#include "hw/live/job_conductor.hpp"

#include <algorithm>

namespace gangway::live {

bool JobConductor::job_over(const Client& client) const {
  return client.port == nullptr || client.seen.job != jobs_[client.id.index].job;
}

bool JobConductor::others_wait(ClientId than) {
  return std::any_of(clients_.begin(), clients_.end(), [&](const Client& client) {
    return client.port != nullptr && client.gpu == of(than).gpu && client.id != than &&
           grants_.waits(grants_.job_of(client.id).id);
  });
}

void JobConductor::granted(const Client& client) {
  ToldJob& job = jobs_[client.id.index];
  job.job = job.granted = client.seen.job;
}

std::uint64_t JobConductor::last_job(ClientId client) {
  return others_wait(client) ? jobs_[client.index].granted : 0;
}

void JobConductor::limit_jobs(std::optional<ClientId> open) {
  if (open && !of(*open).closing) let_jobs(*open, last_job(*open));
}

bool JobConductor::can_be_launched(const Client& client) const {
  return client.seen.waiting || client.seen.away != 0 || !client.seen.drained();
}

void JobConductor::look_at_job(const Client& client) {
  ToldJob& job = jobs_[client.id.index];
  const JobId known = grants_.job_of(client.id).id;
  // Without a grant its job can end all the same, by a drain that went on to its end, or of a gate that had
  // nobody to close it. While the policy waits to launch it, launch() will see.
  if (job.told && client.seen.job != job.job && !grants_.waits(known)) {
    grants_.over(known);
    job.told = false;
  }
  if ((client.seen.job & 1) == 0 || client.unconfirmed) return;
  if (!job.told) {
    arrive(client, job);
  } else if (!grants_.waits(known) && can_be_launched(client)) {
    about_to_tell(client);
    grants_.returned(known);
    tell(Arrived{known});
  }
}

void JobConductor::arrive(const Client& client, ToldJob& job) {
  job.told = true;
  job.job = client.seen.job;
  JobFacts facts;
  facts.id = {client.id, job.jobs++};
  facts.priority = client.priority;
  facts.weight = client.weight;
  facts.attributes = client.attributes;
  if (client.slo) facts.deadline = now() - client.seen.since_arrival + *client.slo;
  describe(facts, client);
  grants_.arrived(facts, now());
  about_to_tell(client);
  tell(Arrived{facts.id});
}

}  // namespace gangway::live
