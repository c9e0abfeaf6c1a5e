// One point under one policy while its replications come in, in any order.
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

// A point that several units play at once: read by whichever comes first.
class OpenPoint {
 public:
  explicit OpenPoint(std::uint32_t index) : index_(index) {}

  // Throws what reading and `check` throw, to everybody.
  const Point& get(const Experiment& experiment, const std::function<void(const Point&)>& check);
  std::uint32_t index() const { return index_; }

 private:
  std::uint32_t index_;
  std::mutex mutex_;
  std::optional<Point> point_;
  std::exception_ptr error_;
};

// What became of one replication.
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
  // Whether a replication has to be played: none before it has failed. One that was handed out earlier may
  // fail later, and then its failure is the group's.
  bool needs(std::uint32_t replication) const { return replication <= first_failed_; }

  // Takes a replication; they are reduced in their order, so that the first one that fails is the same on any
  // number of threads. When all are in, or one failed, the group is kept in the folder, with jobs.csv's rows.
  // Returns whether that was now; error() then has the reason of a failure.
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
  std::map<std::uint32_t, Played> early_;  // replications whose predecessors are not in yet
  std::uint32_t next_ = 0;
  bool closed_ = false, wrong_input_ = false;
  std::atomic<std::uint32_t> first_failed_ = UINT32_MAX;
  std::string error_, label_;
};

// A message's first line.
std::string first_line(const std::string& text);

}  // namespace gangway
