#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "hw/live/exec.hpp"
#include "hw/live/runtime_folder.hpp"
#include "models/error.hpp"
#include "models/input/field.hpp"
#include "models/recording/jobs.hpp"

namespace gangway {

void add_exec(CLI::App& app, const std::vector<std::string>& program, int& code) {
  auto settings = std::make_shared<live::ExecSettings>();
  auto slo = std::make_shared<std::string>();
  auto read_only = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = app.add_subcommand(
      "exec", "run an unmodified program under the daemon: gangway exec [options] -- PROGRAM [arguments]");
  sub->add_option("--priority", settings->priority, "priority of its jobs; higher is more urgent (default 0)")
      ->check(CLI::Range(-1000, 1000));
  sub->add_option("--weight", settings->weight, "its share is proportional to this (default 1)")
      ->check(CLI::Range(0.001, 1000.0));
  sub->add_option("--slo", *slo, "latency objective of its jobs, such as 5 ms, for policies with deadlines")
      ->type_name(value_type::kTime);
  sub->add_option("--name", settings->name, "name in the daemon's reports (default: the program's)")
      ->check([](const std::string& name) { return name.size() < 64 ? "" : "longer than 63 bytes"; });
  sub->add_option("--group", settings->group,
                  "programs of one user and group are one client: for those that wait for each other")
      ->check([](const std::string& name) { return name.size() < 64 ? "" : "longer than 63 bytes"; });
  sub->add_option_function<std::string>(
         "--gpu",
         [settings](const std::string& which) {
           settings->gpu.reset();
           if (which != "auto") settings->gpu = static_cast<unsigned>(std::stoul(which));
         },
         "the only GPU that it sees, under that GPU's daemon; auto (default): the one that a daemon of "
         "several GPUs assigns, or all GPUs, under the daemon of GPU 0")
      ->type_name("N|auto")
      ->check([](const std::string& which) {
        if (which == "auto" || CLI::Range(0U, 63U)(which).empty()) return std::string();
        return "found " + quote(which) + ", expected auto, or a whole number from 0 to 63";
      });
  sub->add_option("--socket", settings->socket,
                  "where the daemon listens (default " + live::default_socket() +
                      ", with -N for GPU N from 1 on; if there is none, the service's: " +
                      live::kServiceSocket + ", also with -N)")
      ->type_name(value_type::kFile);
  const CLI::Option* jobs = sub->add_option(
      "--jobs", settings->jobs,
      "what a job is: sync, from a submission to the call that leaves nothing outstanding; nvtx:NAME or "
      "nvtx:DOMAIN/NAME, an NVTX range; whole, the program (default: whole where memory moves under a policy "
      "that evicts when a quantum or slice ends, else sync)");
  sub->add_option_function<std::string>(
         "--memory", [settings](const std::string& which) { settings->native_memory = which == "native"; },
         "native: the program's memory stays on the GPU; managed: it may leave (default: the daemon's "
         "setting)")
      ->check(CLI::IsMember({"native", "managed"}));
  sub->add_option(
         "--read-only", *read_only,
         "SIZE of allocations that no kernel of the program writes to, such as 4 GiB: with managed memory "
         "they are copied from the GPU only after copies and memsets into them")
      ->allow_extra_args(false);
  sub->add_flag("--check-read-only", settings->check_read_only,
                "compare these allocations instead of skipping them, and report those that were written")
      ->needs("--read-only");
  sub->add_flag("--preload", settings->preload,
                "also use LD_PRELOAD, for programs with their own library search path");
  sub->allow_extras()->prefix_command();
  sub->callback([sub, jobs, settings, slo, read_only, program, &code] {
    for (const std::string& size : *read_only) {
      const Node node = Node::text(size, Origin{"--read-only", 0});
      settings->read_only.push_back(static_cast<std::uint64_t>(Field(node, "read-only").bytes().count));
    }
    if (!slo->empty()) {
      const Node node = Node::text(*slo, Origin{"--slo", 0});
      settings->slo = Field(node, "slo").duration(Duration{1});
    }
    if (jobs->count() != 0) recording::read_job_rule(settings->jobs);
    if (settings->socket.empty()) settings->socket = live::socket_to_join(settings->gpu.value_or(0));
    settings->command = sub->remaining();
    settings->command.insert(settings->command.end(), program.begin(), program.end());
    if (settings->command.empty() || settings->command.front().empty())
      throw InputError({"exec", 0}, "program", "none", "gangway exec [options] -- PROGRAM [arguments]");
    code = live::execute(*settings);
  });
}

}  // namespace gangway
