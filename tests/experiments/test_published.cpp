#include "experiments/published/published.hpp"
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

TEST_CASE("overheads are compared as overheads: 18.4% for 15% is a miss of 23%") {
  Measured measured;
  measured.put(0, "a", "", "antt", 1.184);
  measured.put(0, "b", "", "antt", 1.05);
  const auto judged = [&](const std::string& as, double published, const std::string& minus = "") {
    PublishedValue v = value("a", published, "moderate");
    v.as = as;
    v.minus = minus;
    return judge({v}, measured)[0];
  };
  CHECK(judged("", 1.15).verdict == "pass");
  CHECK(judged("overhead", 0.15).verdict == "miss");
  CHECK(*judged("overhead", 0.15).relative_error == Approx(0.184 / 0.15 - 1));
  CHECK(*judged("loss", -0.2).measured == Approx(-0.184));
  CHECK(*judged("loss", -0.2).relative_error == Approx(0.08));  // above print, as -0.184 is above -0.2
  CHECK(*judged("speedup", 1).measured == Approx(1 / 1.184));
  CHECK(*judged("", 0.134, "b").measured == Approx(0.134));
  CHECK(judged("", 0.134, "c").verdict == "miss");  // not measured
}

TEST_CASE("a range") {
  const auto judged = [&](double here) {
    PublishedValue v = value("a", 4, "order", "in");
    v.published_to = 5;
    Measured measured;
    measured.put(0, "a", "", "antt", here);
    return judge({v}, measured)[0];
  };
  CHECK(judged(4).verdict == "pass");
  CHECK(judged(5).verdict == "pass");
  CHECK(*judged(4.5).relative_error == 0);
  CHECK(judged(3.8).verdict == "miss");
  CHECK(*judged(3.8).relative_error == Approx(-0.05));
  CHECK(*judged(6).relative_error == Approx(0.2));
}

TEST_CASE("a bound passes only what all that it could be passes") {
  const auto judged = [](Certainty certainty, const PublishedValue& published, double here = 4) {
    Measured measured;
    measured.put(0, "a", "", "antt", std::optional(BoundedValue::with(here, certainty)));
    measured.put(0, "b", "", "antt", 2);
    return judge({published}, measured)[0];
  };
  const auto below = value("a", 5, "order", "<"), above = value("a", 3, "order", ">");
  CHECK(judged(Certainty::at_least, below).verdict == "miss");
  CHECK(judged(Certainty::at_least, below).unproven);
  CHECK(judged(Certainty::at_least, below).certainty == Certainty::at_least);
  CHECK(judged(Certainty::at_least, above).verdict == "pass");
  CHECK(judged(Certainty::at_most, below).verdict == "pass");
  CHECK(judged(Certainty::at_most, above).verdict == "miss");
  CHECK(judged(Certainty::rough, below).verdict == "miss");
  CHECK(judged(Certainty::rough, above).verdict == "miss");
  CHECK(judged(Certainty::exact, below).verdict == "pass");
  // Whatever is more yet is a miss in any case.
  CHECK_FALSE(judged(Certainty::at_least, below, 6).unproven);
  CHECK(judged(Certainty::at_least, value("a", 4, "tight")).verdict == "miss");
  CHECK(judged(Certainty::at_least, value("a", 4, "open")).verdict == "shown");
  SECTION("through what it is compared with") {
    PublishedValue ratio = value("a", 1.5, "order", ">");
    ratio.relative_to = "b";
    CHECK(judged(Certainty::at_least, ratio).verdict == "pass");  // 4 or more over 2
    ratio.as = "speedup";                                         // at most 1/2
    ratio.relation = "<";
    CHECK(judged(Certainty::at_least, ratio).certainty == Certainty::at_most);
    CHECK(judged(Certainty::at_least, ratio).verdict == "pass");
    PublishedValue other = value("b", 1, "order", "<");
    other.relative_to = "a";  // 2 over 4 or more
    CHECK(judged(Certainty::at_least, other).verdict == "pass");
    other.relation = ">";
    other.published = 0.1;
    CHECK(judged(Certainty::at_least, other).verdict == "miss");
    PublishedValue loss = value("a", -2, "order", "<");
    loss.as = "loss";  // 1 - 4 or less
    CHECK(judged(Certainty::at_least, loss).verdict == "pass");
    PublishedValue minus = value("b", -1, "order", "<");
    minus.minus = "a";  // 2 - 4 or less
    CHECK(judged(Certainty::at_least, minus).verdict == "pass");
  }
  SECTION("in a ranking") {
    const auto ranked = [](Certainty of_a, double a, double b) {
      Measured measured;
      measured.put(0, "a", "", "antt", std::optional(BoundedValue::with(a, of_a)));
      measured.put(0, "b", "", "antt", b);
      return judge({value("a", 1, "order", "order"), value("b", 2, "order", "order")}, measured)[0];
    };
    CHECK(ranked(Certainty::exact, 1, 2).verdict == "pass");
    CHECK(ranked(Certainty::at_least, 1, 2).verdict == "miss");
    CHECK(ranked(Certainty::at_least, 1, 2).unproven);
    CHECK(ranked(Certainty::at_most, 1, 2).verdict == "pass");
  }
}

TEST_CASE("what follows from the input is neither met nor missed") {
  CHECK(verdicts({value("a", 1, "input"), value("b", 1, "input", "<")}, {1, 2}) == Strings{"input", "input"});
}

TEST_CASE("clients taken together, and what they are relative to") {
  Measured measured;
  const std::map<std::string, std::pair<double, double>> ntts{{"A", {8, 2}}, {"B", {6, 3}}, {"C", {9, 1}}};
  for (const auto& [client, values] : ntts) {
    measured.put(0, "a", client, "ntt", values.first);
    measured.put(0, "b", client, "ntt", values.second);
  }
  measured.put(0, "a", "D", "jobs", 0);  // it finished nothing, so it has no NTT
  const auto taken = [&](TakenClients clients, auto... changes) {
    PublishedValue v = value("a", 1, "tight");
    v.metric = "ntt";
    v.clients = std::move(clients);
    (changes(v), ...);
    return judge({v}, measured)[0].measured;
  };
  const std::vector<std::string> abc{"A", "B", "C"}, but_d{"D"};
  CHECK(taken({"max", abc, {}}) == 9.0);
  CHECK(taken({"min", {}, but_d}) == 6.0);
  CHECK(taken({"median", abc, {}}) == 8.0);
  CHECK(taken({"median", {"A", "B"}, {}}) == 7.0);
  CHECK(*taken({"mean", abc, {}}) == Approx(23. / 3));
  CHECK_FALSE(taken({"mean", {}, {}}));  // D is one of all
  const auto by_policy = [](PublishedValue& v) { v.relative_to = "b"; };
  const auto overhead = [](PublishedValue& v) { v.as = "overhead"; };
  CHECK(taken({"max", abc, {}}, by_policy) == 9.0);  // 4 2 9: client by client
  CHECK(taken({"min", abc, {}}, by_policy, overhead) == 1.0);
  const auto by_clients = [](PublishedValue& v) {
    v.relative_to_clients = TakenClients{"max", {"A", "B"}, {}};
  };
  CHECK(taken({"max", abc, {}}, by_policy, by_clients) == 3.0);  // 9 over 3: taken together first
  CHECK(taken({"min", abc, {}}, [](PublishedValue& v) { v.relative_to_client = "A"; }) == 0.75);
}

TEST_CASE("of one measured quantity there is one entry") {
  PublishedValue antt = value("a", 1.9, "moderate"), rank = value("a", 1.9, "order", "order");
  rank.path = "published.1";
  CHECK_THROWS_WITH(refuse_repeated({antt, rank}),
                    Catch::Matchers::ContainsSubstring("published.1") &&
                        Catch::Matchers::ContainsSubstring("the same measured quantity"));
  rank.as = "overhead";  // the same quantity in other words
  CHECK_THROWS(refuse_repeated({antt, rank}));
  for (auto different :
       {+[](PublishedValue& v) { v.relative_to = "b"; }, +[](PublishedValue& v) { v.point = 1; },
        +[](PublishedValue& v) { v.policy = "b"; }, +[](PublishedValue& v) { v.metric = "stp"; },
        +[](PublishedValue& v) { v.take = "mean"; }, +[](PublishedValue& v) { v.minus = "b"; }}) {
    PublishedValue other = rank;
    different(other);
    CHECK_NOTHROW(refuse_repeated({antt, other}));
  }
}
