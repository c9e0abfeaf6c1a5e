// Task set files: what is read, exactly, and what is written reads back the same.
#include <fmt/format.h>

#include "models/error.hpp"
#include "models/input/document.hpp"
#include "models/taskset.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

TaskSet read(const std::string& body) {
  const Node root = parse_yaml("kind: taskset\nversion: 1\nname: set\n" + body, "set.yaml");
  return read_task_set(Field(root, ""));
}

TaskSet with_task(const std::string& task, const std::string& device = "{layout: pool, m: 8}") {
  return read(fmt::format("device: {}\ntasks: [{{name: a, {}, g: 3, b: 2}}]\n", device, task));
}

const SporadicTask& first(const TaskSet& set) { return std::get<SporadicTasks>(set.tasks).tasks.front(); }

TEST_CASE("times of a task set are exact") {
  const TaskSet plain = with_task("C: 0.3, T: 1/7");
  CHECK(plain.unit.empty());
  CHECK(first(plain).grid.work.text() == "3/10");
  CHECK(first(plain).period.text() == "1/7");
  CHECK(first(plain).grid.block_time().text() == "1/20");  // 0.3 / (3 * 2), which no double is
}

TEST_CASE("times with units are multiples of the first one's unit") {
  const TaskSet set = with_task("C: 3.8 ms, T: 1/3 us");
  CHECK(set.unit == "ms");
  CHECK(first(set).grid.work.text() == "19/5");
  CHECK(first(set).period.text() == "1/3000");
  CHECK(with_task("C: 3.8ms, T: 2 s").unit == "ms");
  CHECK_THROWS_AS(with_task("C: 3.8 ms, T: 9"), InputError);
  CHECK_THROWS_AS(with_task("C: 3.8, T: 9 ms"), InputError);
}

TEST_CASE("the time that is unlike most others is the wrong one") {
  const auto message = [](const std::string& a, const std::string& b) {
    const auto task = [](const char* name, const std::string& times) {
      return fmt::format("{{name: {}, {}, g: 3, b: 2}}", name, times);
    };
    try {
      read(fmt::format("device: {{layout: pool, m: 8}}\ntasks:\n  - {}\n  - {}\n", task("a", a),
                       task("b", b)));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("fine");
  };
  CHECK(message("C: 3, T: 9 ms", "C: 1 ms, T: 9 ms") ==
        "set.yaml:6: key 'tasks.0.C': found '3', expected a time with a unit, as for tasks.0.T");
  CHECK(
      message("C: 3 ms, T: 9", "C: 1, T: 9") ==
      "set.yaml:6: key 'tasks.0.C': found '3 ms', expected a plain number without a unit, as for tasks.0.T");
  CHECK(message("C: 3 ms, T: 9 ms", "C: 1 ms, T: 9") ==
        "set.yaml:7: key 'tasks.1.T': found '9', expected a time with a unit, as for tasks.0.C");
  CHECK(message("C: 3 ms, T: 9 ms", "C: 1 us, T: 9 ms") == "fine");
}

TEST_CASE("what a sporadic set says, and what it need not say") {
  const auto sporadic = std::get<SporadicTasks>(with_task("C: 1, T: 1").tasks);
  CHECK(sporadic.order == QueueOrder::became_head);
  CHECK(sporadic.channels == 32);
  CHECK_FALSE(sporadic.priorities);
  CHECK(sporadic.layout.total() == 8);
  const auto sm =
      std::get<SporadicTasks>(with_task("C: 1, T: 1", "{layout: sm, sms: 5, threads: 8, channels: 2}").tasks);
  CHECK(sm.layout.kind == ThreadLayout::Kind::sm);
  CHECK(sm.layout.total() == 40);
  CHECK(sm.channels == 2);
}

TEST_CASE("a task set that is written reads back the same") {
  for (const char* body :
       {"source: 'with \"quotes\", \\ and # signs'\ndevice: {layout: pool, m: 8, channels: 4}\n"
        "order: release-ready\npriorities: true\ntasks:\n"
        "  - {name: a, C: 0.1 ms, T: 1/3 s, g: 3, b: 2, priority: -4}\n  - {name: b, C: 7 us, T: 5 ms, g: 1, "
        "b: 8}\n",
        "device: {layout: sm, sms: 3, threads: 4}\norder: release-all\ntasks: [{name: a, C: 2/3, T: 1e6, g: "
        "1, b: 4}]\n",
        "device: {layout: pool, m: 8}\nsubmitted: listed\nstreams:\n"
        "  - {name: s, kernels: [{name: K1, C: 1, g: 1, b: 1}, {name: K2, C: 1, g: 1, b: 1}]}\n"
        "  - {name: t, kernels: [{name: K3, C: 1, g: 1, b: 1, at: 3.5}]}\n",
        "device: {layout: pool, m: 8}\nstreams: [{name: s, kernels: [{name: K1, C: 1 us, g: 1, b: 1}]}]\n",
        "scheduler: fixed-priority\ntasks: [{name: a, c: 1, e: 0, l: 0.5, J: 1/3, T: 9}]\n",
        "scheduler: round-robin\nquantum: 2 ms\ntasks:\n"
        "  - {name: a, c: 1 ms, e: 0 ms, l: 0.5 ms, T: 9 ms}\n  - {name: b, c: 1 ms, e: 0 ms, l: 0 ms}\n",
        "scheduler: fixed-priority\ntasks:\n"
        "  - {name: a, c: 1 ms, e: 0 ms, l: 0 ms, T: 9 ms, code: {name: VA, params: {elements: 20000}}}\n"}) {
    const TaskSet set = read(body);
    const std::string text = to_yaml(set);
    INFO(text);
    const TaskSet again = read_task_set(Field(parse_yaml(text, "again.yaml"), ""));
    CHECK(to_yaml(again) == text);
    CHECK(again.source == set.source);
    CHECK(again.unit == set.unit);
    CHECK(again.tasks.index() == set.tasks.index());
  }
}

}  // namespace
}  // namespace gangway
