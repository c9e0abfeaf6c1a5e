#include "experiments/running/open_group.hpp"

#include <algorithm>
#include <new>

namespace gangway {

const Point& OpenPoint::get(const Experiment& experiment, const std::function<void(const Point&)>& check) {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (point_) return *point_;
  try {
    Point read = experiment.points[index_];
    check(read);
    point_ = std::move(read);
  } catch (const std::bad_alloc&) {  // another try may have more room
    throw;
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  return *point_;
}

bool OpenGroup::take(std::uint32_t replication, Played played, const Experiment& experiment,
                     ResultFolder& folder) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (!played.result) {
    first_failed_ = std::min(first_failed_.load(), replication);
    if (played.error.empty()) played.error = "failed without a reason";
  }
  early_.emplace(replication, std::move(played));
  for (auto it = early_.begin(); it != early_.end() && it->first == next_; it = early_.erase(it), ++next_) {
    if (it->second.result) {
      add(*it->second.result, next_, experiment, folder);
      continue;
    }
    error_ = it->second.error;
    wrong_input_ = it->second.input;
    break;
  }
  if (error_.empty() && next_ < experiment.replications) return false;
  close(experiment, folder);
  return true;
}

void OpenGroup::add(const UnitResult& result, std::uint32_t replication, const Experiment& experiment,
                    ResultFolder& folder) {
  if (!group_) {
    const Point& point = point_->get(experiment, nullptr);
    std::vector<std::string> names;
    for (const Client& client : point.workload->sample().clients) names.push_back(client.name);
    group_ =
        std::make_unique<Group>(std::move(names), experiment.counts_services, experiment.replications > 1);
  }
  group_->add(result);
  if (experiment.write_jobs) folder.keep_jobs(number_, replication, result.job_rows);
}

void OpenGroup::close(const Experiment& experiment, ResultFolder& folder) {
  closed_ = true;
  label_ = experiment.points.labels_at(point_->index())[policy_];
  std::optional<GroupRows> rows;
  if (error_.empty()) rows = group_->rows();
  if (rows && rows->jobs == 0) error_ = "no job finished";
  group_.reset();
  early_.clear();
  if (error_.empty())
    folder.keep(number_, point_->index(), label_, *rows);
  else
    folder.keep_failure(number_, point_->index(), label_, first_line(error_));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace gangway
