// Policies written in Python, as the worlds know policies. All that a class says of itself is read when it is
// defined (analysis/gangway/policy.py); each run makes an instance of its own.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "analysis/core/interpreter_lock.hpp"
#include "analysis/core/parts.hpp"
#include "analysis/core/policy_calls.hpp"
#include "analysis/core/policy_views.hpp"
#include "analysis/core/running.hpp"
#include "models/policy.hpp"
#include "models/policy/ownership.hpp"

namespace gangway::python {
namespace {

// Guarded by the interpreter's lock.
std::uint64_t definitions = 0;  // so far

// An object of Python that threads of ours may let go.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  ~Held() {
    if (!Py_IsInitialized()) {
      object_.release();  // nobody is left who could clean up
      return;
    }
    const InterpreterLock held;
    object_.reset();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  const nb::object& operator*() const { return object_; }
  void drop() { object_.reset(); }  // the interpreter's lock must be held

 private:
  nb::object object_;
};

// Classes that were defined. The registry has them for good, but the interpreter wants them back at its end.
std::vector<std::weak_ptr<Held>>& defined_classes() {
  static std::vector<std::weak_ptr<Held>> classes;
  return classes;
}

nb::object method_of(const nb::object& self, const char* name) {
  return nb::hasattr(self, name) ? nb::object(self.attr(name)) : nb::none();
}

class PythonPolicy : public Policy {
 public:
  PythonPolicy(const nb::object& self, Capabilities needs)
      : note_(self.attr("note")), decide_(self.attr("decide")), needs_(needs) {}

  Capabilities needs() const override { return needs_; }

  void note(Time now, const Fact& fact, const View& view) override {
    const InterpreterLock held;
    epoch_.next();
    call_policy("note()", [&] {
      return std::visit([&](const auto& it) { return (*note_)(now.ns, it, PythonView(view, epoch_)); }, fact);
    });
    epoch_.next();
  }

  void decide(Time now, const View& view, Orders& orders) override {
    const InterpreterLock held;
    epoch_.next();
    call_policy("decide()",
                [&] { return (*decide_)(now.ns, PythonView(view, epoch_), PythonOrders(orders, epoch_)); });
    epoch_.next();
  }

 private:
  Held note_, decide_;
  const Capabilities needs_;
  Epoch epoch_;
};

// One that says whom to choose, and leaves the rest to what ownership policies share.
class PythonOwnership : public OwnershipPolicy {
 public:
  explicit PythonOwnership(const nb::object& self)
      : choose_(self.attr("choose")), urgency_(method_of(self, "urgency")) {}

 private:
  Choice choose(Time now, const View& view) override {
    const InterpreterLock held;
    epoch_.next();
    const PythonView python(view, epoch_);
    nb::list jobs;
    for (const Waiting& w : candidates()) jobs.append(python.job(w.job));
    const auto [index, quantum] = read(call_policy("choose()", [&] { return (*choose_)(now.ns, jobs); }));
    epoch_.next();
    if (index < 0 || static_cast<std::size_t>(index) >= candidates().size())
      throw ForeignError(
          fmt::format("choose() returned {}, expected an index from 0 to {} into the jobs that wait", index,
                      candidates().size() - 1));
    if (quantum && *quantum <= 0)
      throw ForeignError(
          fmt::format("choose() returned a quantum of {} ns, expected one above 0 ns", *quantum));
    return {static_cast<std::size_t>(index), quantum ? std::optional(Duration{*quantum}) : std::nullopt};
  }

  // An index, or (index, quantum in ns).
  static std::pair<std::int64_t, std::optional<std::int64_t>> read(const nb::object& answer) {
    std::int64_t index = 0;
    if (nb::try_cast(answer, index)) return {index, std::nullopt};
    std::pair<std::int64_t, std::optional<std::int64_t>> both;
    if (nb::try_cast(answer, both)) return both;
    throw ForeignError("choose() returned " + nb::cast<std::string>(nb::repr(answer)) +
                       ", expected an index into the jobs that wait, or (index, quantum in ns)");
  }

  bool yields(const Owner&) const override { return !(*urgency_).is_none(); }
  std::int64_t urgency(const View& view, const Waiting& w) const override { return urgency_of(view, w); }
  std::int64_t owner_urgency(Time, const View& view, const Owner& owner) const override {
    return urgency_of(view, owner.waiting);
  }

  std::int64_t urgency_of(const View& view, const Waiting& w) const {
    if ((*urgency_).is_none()) return 0;
    const InterpreterLock held;
    epoch_.next();
    const nb::object answer =
        call_policy("urgency()", [&] { return (*urgency_)(PythonView(view, epoch_).job(w.job)); });
    std::int64_t urgency = 0;
    if (!nb::try_cast(answer, urgency))
      throw ForeignError("urgency() returned " + nb::cast<std::string>(nb::repr(answer)) +
                         ", expected a whole number");
    return urgency;
  }

  Held choose_, urgency_;
  mutable Epoch epoch_;
};

nb::dict dict_of(const ParameterValues& values, const std::vector<Parameter>& parameters) {
  nb::dict out;
  for (const Parameter& p : parameters) {
    const char* const name = p.name.c_str();
    if (std::holds_alternative<Parameter::Time>(p.form))
      out[name] = values.duration(p.name).ns;
    else if (std::holds_alternative<Parameter::Number>(p.form))
      out[name] = values.number(p.name);
    else if (std::holds_alternative<Parameter::Integer>(p.form))
      out[name] = values.integer(p.name);
    else
      out[name] = values.choice(p.name);
  }
  return out;
}

// Whole, of times and integers, or not.
using Value = std::variant<std::int64_t, double>;
// (name, summary, kind, standard, least, most, names); checked by gangway.Parameter.
using Declared =
    std::tuple<std::string, std::string, std::string, Value, Value, Value, std::vector<std::string>>;

Parameter parameter_of(const Declared& declared) {
  const auto& [name, summary, kind, standard, least, most, names] = declared;
  const auto whole = [](const Value& value) { return std::get<std::int64_t>(value); };
  const auto number = [](const Value& value) { return std::get<double>(value); };
  if (kind == "time")
    return {name, summary, Parameter::Time{{whole(standard)}, {whole(least)}, {whole(most)}}};
  if (kind == "number")
    return {name, summary, Parameter::Number{number(standard), number(least), number(most)}};
  if (kind == "integer")
    return {name, summary, Parameter::Integer{whole(standard), whole(least), whole(most)}};
  return {name, summary, Parameter::Choice{names}};
}

Capabilities capabilities_of(const std::vector<std::string>& names) {
  Capabilities all;
  for (const std::string& name : names) {
    Capabilities found;
    for (const Capability c : {Capability::evict, Capability::ranges, Capability::access,
                               Capability::sampling, Capability::intercept})
      if (Capabilities{c}.text() == name) found = {c};
    if (found.none())
      throw InputError({"gangway.Policy", 0}, "needs", quote(name),
                       "evict, ranges, access, sampling or intercept");
    all = all | found;
  }
  return all;
}

}  // namespace

void add_policies(nb::module_& core) {
  add_policy_views(core);
  core.def("define", [](nb::object type, const std::string& name, const std::string& summary,
                        const std::vector<Declared>& declared, const std::vector<std::string>& needs,
                        bool ownership, const std::string& version) {
    if (Running::any()) throw RunError("no policy can be defined during a run");
    std::vector<Parameter> parameters;
    for (const Declared& one : declared) parameters.push_back(parameter_of(one));
    const std::vector<Parameter> own = parameters;
    if (ownership) {
      parameters.push_back(OwnershipPolicy::linger_parameter());
      for (const Parameter& p : own)
        if (p.name == parameters.back().name)
          throw InputError({"gangway.Policy", 0}, "parameters." + p.name,
                           quote(p.name) + ", a parameter of Gangway's own", "another name");
    }
    const Capabilities capabilities = capabilities_of(needs);
    const auto held = std::make_shared<Held>(std::move(type));
    defined_classes().push_back(held);
    const auto make = [held, own, capabilities, ownership, name](const ParameterValues& values) {
      const InterpreterLock lock;
      std::unique_ptr<Policy> policy;
      try {
        const nb::object self = (**held)(**dict_of(values, own));
        if (ownership)
          policy = std::make_unique<PythonOwnership>(self);
        else
          policy = std::make_unique<PythonPolicy>(self, capabilities);
      } catch (const nb::python_error& error) {
        if (error.matches(PyExc_KeyboardInterrupt)) throw;  // of the thread that reads an experiment
        try {
          rethrow(error);
        } catch (const ForeignError& said) {
          throw ForeignError("the policy " + name + " could not be made: " + said.what());
        }
      }
      if (ownership) static_cast<PythonOwnership&>(*policy).set_linger(values.duration("linger"));
      return policy;
    };
    Policies::define(PolicyEntry{{name, summary, std::move(parameters)}, make, version});
    ++definitions;
  });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    for (const auto& known : defined_classes())
      if (const auto held = known.lock()) held->drop();
  }));
  // The same class, after what it refers to has changed; runs that use it may go on meanwhile.
  core.def("renew", [](const std::string& name, const std::string& version) {
    PolicyEntry entry = Policies::named(name, "gangway.Policy", "name");
    entry.version = version;
    Policies::define(std::move(entry));
    ++definitions;
  });
  core.def("forget_runs", [] {
    Running::forget_all();
    PolicyWatch::forget_runs();
    PolicyCall::forget_all();
  });
  core.def("definitions", [] { return definitions; });
  core.def("duration", [](const std::string& text) {
    Duration duration;
    ParseFailure why;
    if (!parse(text, duration, why))
      throw InputError({"gangway.Parameter", 0}, "time", quote(text), why.expected);
    return duration.ns;
  });
}

}  // namespace gangway::python
