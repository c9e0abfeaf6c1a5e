#include "analysis/core/policy_views.hpp"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "models/trace.hpp"

namespace gangway::python {
namespace {

// Clients, launches, timers and requests are whole numbers in Python; times are in ns.
ClientId client_of(std::uint32_t index) { return ClientId{index}; }

const char* name_of_access(Access access) {
  return access == Access::direct ? "direct" : access == Access::intercept ? "intercept" : "deny";
}

Access access_of(const std::string& name) {
  for (const Access access : {Access::direct, Access::intercept, Access::deny})
    if (name == name_of_access(access)) return access;
  throw nb::value_error(fmt::format("access '{}', expected direct, intercept or deny", name).c_str());
}

std::optional<std::int64_t> ns_of(const std::optional<Duration>& duration) {
  return duration ? std::optional(duration->ns) : std::nullopt;
}

void add_facts(nb::module_& core) {
  nb::class_<JobId>(core, "Job", "A job: client and number, both from 0.")
      .def_prop_ro("client", [](const JobId& id) { return std::uint32_t{id.client.index}; })
      .def_ro("number", &JobId::number)
      .def(
          "__eq__", [](const JobId& a, const JobId& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__lt__", [](const JobId& a, const JobId& b) { return a < b; }, nb::is_operator())
      .def("__hash__", [](const JobId& id) { return (std::int64_t{id.client.index} << 32) + id.number; })
      .def("__repr__", [](const JobId& id) {
        return fmt::format("Job(client={}, number={})", std::uint32_t{id.client.index}, id.number);
      });
  nb::class_<Opens>(core, "Opens")
      .def_prop_ro("client", [](const Opens& f) { return std::uint32_t{f.client.index}; })
      .def_ro("channels", &Opens::channels)
      .def_ro("weight", &Opens::weight);
  nb::class_<Left>(core, "Left")
      .def_prop_ro("launch", [](const Left& f) { return f.launch.value; })
      .def_ro("job", &Left::job)
      .def_prop_ro("why", [](const Left& f) { return name_of(f.why); })
      .def_prop_ro("done", [](const Left& f) { return f.done ? std::optional(f.done->count) : std::nullopt; })
      .def_ro("job_over", &Left::job_over)
      .def_prop_ro("served", [](const Left& f) { return f.served.ns; });
  nb::class_<Arrived>(core, "Arrived").def_ro("job", &Arrived::job);
  nb::class_<Started>(core, "Started")
      .def_prop_ro("launch", [](const Started& f) { return f.launch.value; })
      .def_ro("job", &Started::job);
  nb::class_<Moved>(core, "Moved")
      .def_ro("job", &Moved::job)
      .def_prop_ro("gpu", [](const Moved& f) { return f.device.index; })
      .def_prop_ro("move", [](const Moved& f) { return f.move == MemoryMove::restore ? "restore" : "save"; });
  nb::class_<Exited>(core, "Exited").def_prop_ro("client", [](const Exited& f) {
    return std::uint32_t{f.client.index};
  });
  nb::class_<Submitted>(core, "Submitted")
      .def_prop_ro("client", [](const Submitted& f) { return std::uint32_t{f.client.index}; })
      .def_prop_ro("request", [](const Submitted& f) { return f.request.value; });
  nb::class_<Drained>(core, "Drained")
      .def_prop_ro("client", [](const Drained& f) { return std::uint32_t{f.client.index}; })
      .def_prop_ro("overrun", [](const Drained& f) { return f.overrun.ns; });
  nb::class_<Sampled>(core, "Sampled")
      .def_prop_ro("client", [](const Sampled& f) { return std::uint32_t{f.client.index}; })
      .def_ro("requests", &Sampled::requests)
      .def_prop_ro("busy", [](const Sampled& f) { return f.busy.ns; })
      .def_prop_ro("span", [](const Sampled& f) { return f.span.ns; });
  nb::class_<Activity>(core, "Activity")
      .def_prop_ro("client", [](const Activity& f) { return std::uint32_t{f.client.index}; })
      .def_ro("used", &Activity::used)
      .def_ro("pending", &Activity::pending)
      .def_prop_ro("usage", [](const Activity& f) { return f.usage.ns; });
  nb::class_<Overdue>(core, "Overdue")
      .def_prop_ro("client", [](const Overdue& f) { return std::uint32_t{f.client.index}; })
      .def_prop_ro("age", [](const Overdue& f) { return f.age.ns; });
  nb::class_<Timer>(core, "Timer").def_prop_ro("timer", [](const Timer& f) { return f.timer.value; });
}

void add_view(nb::module_& core) {
  nb::class_<KernelFacts>(core, "KernelFacts")
      .def_prop_ro("block_tasks", [](const KernelFacts& k) { return k.block_tasks.count; })
      .def_prop_ro("declared", [](const KernelFacts& k) { return ns_of(k.declared); })
      .def_ro("priority", &KernelFacts::priority)
      .def_prop_ro("resident", [](const KernelFacts& k) { return k.resident.count; })
      .def_prop_ro(
          "slice",
          [](const KernelFacts& k) { return k.slice ? std::optional(k.slice->count) : std::nullopt; })
      .def_ro("same_as", &KernelFacts::same_as);
  nb::class_<PythonJob>(core, "JobFacts")
      .def_prop_ro("id", [](const PythonJob& j) { return j.facts().id; })
      .def_prop_ro("arrived", [](const PythonJob& j) { return j.facts().arrived.ns; })
      .def_prop_ro("over", [](const PythonJob& j) { return j.facts().over; })
      .def_prop_ro("priority", [](const PythonJob& j) { return j.facts().priority; })
      .def_prop_ro("urgency", [](const PythonJob& j) { return j.facts().urgency(); })
      .def_prop_ro("weight", [](const PythonJob& j) { return j.facts().weight; })
      .def_prop_ro("deadline",
                   [](const PythonJob& j) {
                     const auto& deadline = j.facts().deadline;
                     return deadline ? std::optional(deadline->ns) : std::nullopt;
                   })
      .def_prop_ro("alone", [](const PythonJob& j) { return ns_of(j.facts().work.alone); })
      .def_prop_ro("served", [](const PythonJob& j) { return j.facts().work.served.ns; })
      .def_prop_ro("program", [](const PythonJob& j) { return j.facts().program; })
      .def_prop_ro("kernel", [](const PythonJob& j) { return j.facts().kernel; })
      .def_prop_ro("done", [](const PythonJob& j) { return j.facts().done.count; })
      .def_prop_ro("kernels",
                   [](const PythonJob& j) {
                     const KernelsFacts& kernels = j.facts().kernels;
                     return std::vector<KernelFacts>(kernels.begin(), kernels.end());
                   })
      .def_prop_ro("current", [](const PythonJob& j) { return KernelFacts(j.facts().current()); })
      .def("attribute",
           [](const PythonJob& j, const std::string& name) { return j.facts().attribute(name); });
  nb::class_<PythonView>(core, "View")
      .def("job", &PythonView::job)
      .def_prop_ro("clients", [](const PythonView& v) { return v.view().clients(); })
      .def_prop_ro("channels", [](const PythonView& v) { return v.view().channels(); })
      .def_prop_ro("gpus", [](const PythonView& v) { return v.view().gpus(); })
      .def_prop_ro("grants",
                   [](const PythonView& v) { return v.view().grants() == GrantOf::job ? "job" : "kernel"; });
}

void add_orders(nb::module_& core) {
  nb::class_<PythonOrders>(core, "Orders")
      .def(
          "launch",
          [](const PythonOrders& o, const JobId& job, std::uint32_t gpu,
             const std::optional<std::pair<std::int64_t, std::int64_t>>& blocks) {
            std::optional<BlockRange> range;
            if (blocks) range = BlockRange{{blocks->first}, {blocks->second}};
            return o.orders().launch(job, DeviceId{gpu}, range).value;
          },
          nb::arg("job"), nb::arg("gpu") = 0, nb::arg("blocks") = nb::none())
      .def("evict", [](const PythonOrders& o, std::uint64_t launch) { o.orders().evict(LaunchId{launch}); })
      .def("kill", [](const PythonOrders& o, std::uint32_t client) { o.orders().kill(client_of(client)); })
      .def("access", [](const PythonOrders& o, std::uint32_t client,
                        const std::string& how) { o.orders().access(client_of(client), access_of(how)); })
      .def("admit",
           [](const PythonOrders& o, std::uint64_t request) { o.orders().admit(RequestId{request}); })
      .def("grant", [](const PythonOrders& o, std::uint32_t client,
                       std::int64_t channels) { o.orders().grant(client_of(client), channels); })
      .def("drain", [](const PythonOrders& o, std::uint32_t client) { o.orders().drain(client_of(client)); })
      .def("sample", [](const PythonOrders& o, std::uint32_t client, std::int64_t span,
                        std::int64_t requests) { o.orders().sample(client_of(client), {span}, requests); })
      .def("watch", [](const PythonOrders& o, std::int64_t limit) { o.orders().watch({limit}); })
      .def("wake_at",
           [](const PythonOrders& o, std::int64_t time) { return o.orders().wake_at({time}).value; })
      .def("cancel", [](const PythonOrders& o, std::uint64_t timer) { o.orders().cancel(TimerId{timer}); });
}

}  // namespace

void Epoch::Stamp::check() const {
  if (*now_ == then_) return;
  PyErr_SetString(PyExc_ReferenceError,
                  "this view belongs to an earlier call of the policy; keep numbers, not views");
  throw nb::python_error();
}

void add_policy_views(nb::module_& core) {
  add_facts(core);
  add_view(core);
  add_orders(core);
}

}  // namespace gangway::python
