// Sweeps, the points they make, the threads that play them, and the store of what is finished.
#include <atomic>
#include <new>
#include <set>

#include "experiments/results/part_store.hpp"
#include "experiments/running/workers.hpp"
#include "experiments/sweeps/experiment.hpp"
#include "experiments/sweeps/group_counts.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/fig4.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::kFig4;
using testing::ScratchFolder;

namespace {

Sweep sweep_of(const std::string& text) {
  const Node node = parse_yaml(text, "test");
  return Sweep(Field(node, "sweep"));
}

Experiment swept(const std::string& sweep) {
  return read_experiment(kFig4, {{"published", "[]"}, {"sweep", sweep}});
}

}  // namespace

TEST_CASE("four billion points take no room and are found by number") {
  const Sweep sweep = sweep_of(
      "{a: {from: 1 us, to: 1000 us, step: 1 us}, b: {from: 1, to: 1000, step: 1}, "
      "c: {from: 1 kB, to: 4000 kB, step: 1 kB}}");
  CHECK(sweep.points() == 4'000'000'000);
  CHECK(sweep.values(0) == std::vector<std::string>{"1 us", "1", "1 kB"});
  CHECK(sweep.values(3'999'999'999) == std::vector<std::string>{"1 ms", "1000", "4 MB"});
  CHECK(sweep.values(4'000 * 999 + 2) == std::vector<std::string>{"1 us", "1000", "3 kB"});
  CHECK(sweep.columns() == ",a,a_ns,b,c,c_bytes");
  CHECK(sweep.cells(4'000'000) == ",2 us,2000,1,1 kB,1000");
  CHECK_THROWS_WITH(sweep_of("{a: {from: 1, to: 70000, step: 1}, b: {from: 1, to: 70000, step: 1}}"),
                    Catch::Matchers::ContainsSubstring("at most 4294967295 points"));
}

TEST_CASE("of few points all are checked, of many each path's values by themselves") {
  CHECK(sweep_of("{a: [1, 2, 3], b: [4, 5]}").checked() == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
  const Sweep many = sweep_of("{a: {from: 1, to: 100, step: 1}, b: {from: 1, to: 5000, step: 1}}");
  const auto checked = many.checked();
  CHECK(checked.size() == 100 + 1000 - 1);
  std::set<std::string> of_a, of_b;
  for (const std::uint32_t point : checked) {
    const auto values = many.values(point);
    CHECK((values[0] == "1" || values[1] == "1"));
    of_a.insert(values[0]);
    of_b.insert(values[1]);
  }
  CHECK(of_a.size() == 100);
  CHECK(of_b.size() == 1000);
  CHECK(of_b.count("5000") == 1);
}

TEST_CASE("ranges end where they say, below zero, too") {
  CHECK(sweep_of("{a: {from: -5, to: -5, step: 1}}").points() == 1);
  CHECK(sweep_of("{a: {from: -3, to: 3, step: 0.1}}").points() == 61);
  CHECK(sweep_of("{a: {from: 0.25 ms, to: 8 ms, factor: 2}}").values(5) == std::vector<std::string>{"8 ms"});
  CHECK(sweep_of("{a: {from: 1 GB/s, to: 3 GB/s, step: 1 GB/s}}").cells(2) == ",3000000000 B/s,3000000000");
  CHECK_THROWS_AS(sweep_of("{a: {from: 1 ms, to: 2 ms, step: 0 ms}}"), InputError);
  CHECK_THROWS_AS(sweep_of("{a: {from: 1 ms, to: 2, step: 1 ms}}"), InputError);
}

TEST_CASE("paths of `together` take their values side by side") {
  const Sweep sweep =
      sweep_of("{a: [1, 2], together: {b: [x, y, z], c: {from: 1 ms, to: 3 ms, step: 1 ms}}, d: [p, q]}");
  CHECK(sweep.points() == 12);
  CHECK(sweep.columns() == ",a,b,c,c_ns,d");
  CHECK(sweep.values(0) == std::vector<std::string>{"1", "x", "1 ms", "p"});
  CHECK(sweep.values(3) == std::vector<std::string>{"1", "y", "2 ms", "q"});
  CHECK(sweep.values(11) == std::vector<std::string>{"2", "z", "3 ms", "q"});
  CHECK(sweep.stride(0) == 6);
  CHECK(sweep.stride(1) == sweep.stride(2));
  const Sweep two = sweep_of("{together: [{a: [1, 2], b: [3, 4]}, {c: [5, 6, 7], d: [8, 9, 0]}]}");
  CHECK(two.points() == 6);
  CHECK(two.values(4) == std::vector<std::string>{"2", "4", "6", "9"});
  const Sweep many = sweep_of(
      "{together: {a: {from: 1, to: 3000, step: 1}, b: {from: 2, to: 6000, step: 2}}, c: [1, 2, 3]}");
  CHECK(many.points() == 9000);
  CHECK(many.checked().size() == 1000 + 2);
  CHECK(many.values(many.checked().back()) == std::vector<std::string>{"3000", "6000", "1"});
}

TEST_CASE("what does not go together is refused") {
  const auto refusal = [](const std::string& sweep, const std::string& text) {
    CHECK_THROWS_WITH(sweep_of(sweep), Catch::Matchers::ContainsSubstring(text));
  };
  refusal("{together: {a: [1, 2], b: [1, 2, 3]}}",
          "key 'sweep.together.b': found 3 values, expected 2, as a has");
  refusal("{a: [1, 2], together: {a: [1, 2], b: [1, 2]}}",
          "key 'sweep.together.a': found 'a' a second time, expected each path once");
  refusal("{together: 3}", "sweep.together");
  refusal("{together: [[1, 2]]}", "expected a mapping from paths to lists or ranges of the same length");
}

TEST_CASE("groups before a point are those of the points below it") {
  for (const char* text : {"{a: [1, 2, 3]}", "{policies: [[p], [p, q, r]], a: [1, 2, 3]}",
                           "{a: [1, 2], policies: [[p], [p, q, r], [p, q]], b: [1, 2]}",
                           "{a: [1, 2], together: {b: [1, 2], policies: [[p], [p, q]]}, c: [1, 2, 3]}"}) {
    const Sweep sweep = sweep_of(text);
    const GroupCounts counts(sweep, "policies", 4);
    std::uint64_t before = 0;
    for (std::uint32_t point = 0; point < sweep.points(); ++point) {
      CHECK(counts.before(point) == before);
      before += counts.at(point);
    }
    CHECK(counts.all() == before);
    CHECK(counts.of(PointSet::parse("1-2,0", sweep.points())) == counts.before(3));
  }
}

TEST_CASE("points are named by ranges") {
  const PointSet some = PointSet::parse("7,0-2,3,9-9,1", 10);
  CHECK(some.ranges() == std::vector<PointSet::Range>{{0, 3}, {7, 7}, {9, 9}});
  CHECK(some.text() == "0-3,7,9");
  CHECK(some.text_of_first(2) == "0-3, 7 and 1 more ranges");
  CHECK(some.has(3));
  CHECK_FALSE(some.has(4));
  CHECK(PointSet::all(10).without(some).text() == "4-6,8");
  CHECK(PointSet::parse("4294967294", 4294967295).ranges().front().last == 4294967294);
  CHECK(PointSet::parse(some.text(), 10) == some);
  const auto refusal = [](const std::string& points, const std::string& found) {
    CHECK_THROWS_WITH(PointSet::parse(points, 10), Catch::Matchers::ContainsSubstring(found));
  };
  for (const char* wrong : {"", "a", "1-", "-3", "1,,2", "1-2-3", " 1", "0x3", "99999999999"})
    refusal(wrong, "expected numbers and ranges such as 0-9,12,20-29");
  refusal("3-2", "found '3-2', expected a range that does not end before it begins");
  refusal("0-10", "found point 10, expected points of this sweep, from 0 to 9");
}

TEST_CASE("a workload is read once where the sweep leaves it alone") {
  const Experiment quanta = swept("{policies.rr.params.quantum: [1 ms, 2 ms, 3 ms]}");
  CHECK(quanta.points[0].workload == quanta.points[2].workload);
  const Experiment both =
      swept("{workload.arrivals.gap: [1 ms, 2 ms], policies.rr.params.quantum: [1 ms, 2 ms]}");
  CHECK(both.points[0].workload == both.points[1].workload);
  CHECK(both.points[2].workload == both.points[3].workload);
  CHECK(both.points[0].workload->sample().arrivals->gap == Duration{1'000'000});
  CHECK(both.points[3].workload->sample().arrivals->gap == Duration{2'000'000});
}

TEST_CASE("each point has the policies that it has") {
  const Experiment e = swept("{policies: [[sjf], [rr, cfs, frs]], device.commands.launch: [1 us, 2 us]}");
  CHECK(e.points.groups().all() == 8);
  CHECK(e.points.policies_at(1) == 1);
  CHECK(e.points.policies_at(2) == 3);
  CHECK(e.points.labels_at(3) == std::vector<std::string>{"cfs", "frs", "rr"});
  CHECK(e.points[3].policies[1].label == "frs");
}

TEST_CASE("work goes on with fewer threads when memory is short") {
  std::atomic<int> left = 100, done = 0, failures = 3;
  const auto step = [&] {
    if (left-- <= 0) return false;
    if (failures-- > 0) {
      ++left;  // put back
      throw std::bad_alloc();
    }
    ++done;
    return true;
  };
  const Crew crew = work(4, step, [] {});
  CHECK(done == 100);
  CHECK_FALSE(crew.note.empty());
  CHECK_THROWS_WITH(work(
                        3, [&]() -> bool { throw std::bad_alloc(); }, [] {}),
                    Catch::Matchers::ContainsSubstring("out of memory"));
  CHECK_THROWS_WITH(work(
                        3, [&]() -> bool { throw RunError("broken"); }, [] {}),
                    "broken");
}

TEST_CASE("a store keeps all or none of what belongs together") {
  const ScratchFolder scratch;
  PartStore store(scratch / "store");
  store.keep(1, {0, "a", "rows", "", 5, 2});
  store.keep_text(1, 0, "text");
  const std::string before = store.hash();
  CHECK_THROWS_WITH(store.all_or_none([&] {
    store.keep(2, {0, "b", "rows", ""});
    store.keep_text(1, 0, "another text");
    store.say("name", "something");
    throw RunError("cut off");
  }),
                    "cut off");
  CHECK(store.hash() == before);
  CHECK(store.said("name").empty());
  store.all_or_none([&] { store.keep(2, {0, "b", "", "failed", 1, 1}); });
  CHECK(store.hash() != before);
  CHECK(store.find(1) == Part{0, "a", "rows", "", 5, 2});
  CHECK_FALSE(store.find(3));
  CHECK(store.totals().events == 6);
  CHECK(store.totals().failed == 1);
}

TEST_CASE("a store keeps parts in the order of their numbers, and the last of each") {
  const ScratchFolder scratch;
  {
    PartStore store(scratch / "store");
    store.keep_text(7, 0, "late");
    store.keep(7, {3, "b", "rows of 7", ""});
    store.keep_text(2, 0, "first,");
    store.keep_text(2, 1, "second");
    store.keep(2, {1, "a", "", "failed"});
    store.keep(2, {1, "a", "rows of 2", ""});
    store.keep(9, {4, "c", "", "failed"});
    store.keep_file("summary.csv", {12, "abc"});
  }
  PartStore store(scratch / "store");
  CHECK(store.count() == 2);
  CHECK(store.has(2));
  CHECK_FALSE(store.has(9));
  CHECK(store.files().at("summary.csv").bytes == 12);
  CHECK(store.first()->rows == "rows of 2");
  std::string seen;
  store.each([&](std::uint64_t number, const Part& part) {
    seen += std::to_string(number) + ":" + part.name + part.error + " ";
  });
  CHECK(seen == "2:a 7:b 9:cfailed ");
  std::string text;
  store.each_text(7, [&](std::string_view piece) { text += piece; });
  CHECK(text == "late");
  store.keep_text(7, 0, "again");  // as a run that was cut off in the middle does it
  text.clear();
  store.each_text(7, [&](std::string_view piece) { text += piece; });
  CHECK(text == "again");
}
