#include "experiments/published.hpp"
#include "tests/catch.hpp"

using namespace gangway;

namespace {

PublishedValue value(const std::string& policy, double published, const std::string& class_name,
                     const std::string& relation = "=") {
  PublishedValue v;
  v.policy = policy;
  v.metric = "antt";
  v.published = published;
  v.class_name = class_name;
  v.relation = relation;
  v.group = relation == "order" ? "g" : "";
  return v;
}

std::vector<std::string> verdicts(const std::vector<PublishedValue>& values,
                                  const std::vector<double>& here) {
  Measured measured;
  for (std::size_t i = 0; i < values.size(); ++i) measured.put(0, values[i].policy, "", "antt", here[i]);
  std::vector<std::string> out;
  for (const Verdict& v : judge(values, measured)) out.push_back(v.verdict);
  return out;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("tight values pass within 2%, moderate ones within 10%, open ones are shown") {
  CHECK(verdicts({value("a", 100, "tight"), value("b", 100, "tight"), value("c", 100, "moderate"),
                  value("d", 100, "moderate"), value("e", 100, "open")},
                 {102, 102.1, 90, 110.1, 500}) == Strings{"pass", "miss", "pass", "miss", "shown"});
}

TEST_CASE("limits") {
  CHECK(verdicts({value("a", 1, "order", "<"), value("b", 1, "order", "<"), value("c", 1, "order", ">")},
                 {0.9, 1, 1.1}) == Strings{"pass", "miss", "pass"});
}

TEST_CASE("ranks hold when no pair that is told apart both in print and here is the wrong way round") {
  const auto a = value("a", 1, "order", "order"), b = value("b", 2, "order", "order"),
             c = value("c", 2.05, "order", "order");
  CHECK(verdicts({a, b, c}, {5, 6, 9}) == Strings{"pass", "pass", "pass"});
  CHECK(verdicts({a, b, c}, {5, 9, 6}) == Strings{"pass", "pass", "pass"});       // b and c tie in print
  CHECK(verdicts({a, b, c}, {5.1, 5, 5.05}) == Strings{"pass", "pass", "pass"});  // all tie here
  CHECK(verdicts({a, b, c}, {7, 6, 9}) == Strings{"miss", "miss", "pass"});       // a and b changed places
}

TEST_CASE("a value relative to another policy's, and one that was not measured") {
  PublishedValue ratio = value("a", 2, "tight");
  ratio.relative_to = "b";
  Measured measured;
  measured.put(0, "a", "", "antt", 4.02);
  measured.put(0, "b", "", "antt", 2);
  const auto got = judge({ratio, value("c", 1, "tight")}, measured);
  CHECK(got[0].verdict == "pass");
  CHECK(*got[0].measured == Approx(2.01));
  CHECK(got[1].verdict == "miss");
  CHECK_FALSE(got[1].measured.has_value());
}

TEST_CASE("a value over several points: the mean, least or largest, and of ratios") {
  Measured measured;
  for (std::uint32_t point = 0; point < 3; ++point) {
    measured.put(point, "a", "", "antt", 2 + point);  // 2 3 4
    measured.put(point, "b", "", "antt", 1 + point);  // 1 2 3
    if (point < 2) measured.put(point, "c", "", "antt", 1);
  }
  const auto over = [&](const std::string& take, const std::string& policy = "a", bool ratio = false) {
    PublishedValue v = value(policy, 1, "tight");
    v.last_point = 2;
    v.take = take;
    if (ratio) v.relative_to = "b";
    return judge({v}, measured)[0].measured;
  };
  CHECK(over("mean") == 3.0);
  CHECK(over("min") == 2.0);
  CHECK(over("max") == 4.0);
  CHECK(over("max", "a", true) == 2.0);
  CHECK_FALSE(over("mean", "c"));  // not measured everywhere
  PublishedValue later = value("a", 1, "tight");
  later.point = 1;
  later.last_point = 2;
  later.take = "mean";
  CHECK(judge({later}, measured)[0].measured == 3.5);
}
