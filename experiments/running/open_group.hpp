// One point under one policy while its replications arrive, in any order.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "experiments/results/folder.hpp"

namespace gangway {

// A point shared by several units; read by the first that needs it.
class OpenPoint {
 public:
  explicit OpenPoint(std::uint32_t index) : index_(index) {}

  // Rethrows what reading or `check` throws, to every caller.
  const Point& get(const Experiment& experiment, const std::function<void(const Point&)>& check);
  std::uint32_t index() const { return index_; }

 private:
  std::uint32_t index_;
  std::mutex mutex_;
  std::optional<Point> point_;
  std::exception_ptr error_;
};

// The outcome of a replication.
struct Played {
  std::optional<UnitResult> result;  // or
  std::string error;
  bool input = false;  // the error is one of input
};

class OpenGroup {
 public:
  OpenGroup(std::uint64_t number, std::shared_ptr<OpenPoint> point, std::uint32_t policy)
      : number_(number), point_(std::move(point)), policy_(policy) {}

  std::uint64_t number() const { return number_; }
  OpenPoint& point() const { return *point_; }
  std::uint32_t policy() const { return policy_; }
  // Whether a replication must be played: no earlier one has failed. If an earlier one fails later, its
  // failure becomes the group's.
  bool needs(std::uint32_t replication) const { return replication <= first_failed_; }

  // Adds a replication. They are reduced in order, so that the first failure is the same for any number of
  // threads. When all are in, or one failed, stores the group and its jobs.csv rows in the folder. Returns
  // whether that happened now; error() then has the reason of a failure.
  bool take(std::uint32_t replication, Played played, const Experiment& experiment, ResultFolder& folder);
  const std::string& error() const { return error_; }
  bool wrong_input() const { return wrong_input_; }
  const std::string& label() const { return label_; }

 private:
  void add(const UnitResult& result, std::uint32_t replication, const Experiment& experiment,
           ResultFolder& folder);
  void close(const Experiment& experiment, ResultFolder& folder);

  std::uint64_t number_;
  std::shared_ptr<OpenPoint> point_;
  std::uint32_t policy_;
  std::mutex mutex_;
  std::unique_ptr<Group> group_;
  std::map<std::uint32_t, Played> early_;  // replications waiting for earlier ones
  std::uint32_t next_ = 0;
  bool closed_ = false, wrong_input_ = false;
  std::atomic<std::uint32_t> first_failed_ = UINT32_MAX;
  std::string error_, label_;
};

// A message's first line.
std::string first_line(const std::string& text);

}  // namespace gangway
