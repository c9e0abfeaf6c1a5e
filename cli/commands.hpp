// The subcommands, one file each. `code` receives the exit code; errors are thrown (InputError: 2, others:
// 1).
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gangway {

void add_run(CLI::App& app, const std::string& command, int& code);
void add_merge(CLI::App& app, const std::string& command, int& code);
void add_bound(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_compare(CLI::App& app, int& code);
// Receives the whole app, whose completion it prints.
void add_completion(CLI::App& app, int& code);
void add_manual(CLI::App& app, int& code);  // likewise
void add_doctor(CLI::App& app, int& code);
void add_import(CLI::App& app, int& code);
void add_inspect(CLI::App& app, int& code);
void add_list(CLI::App& app, int& code);
void add_new(CLI::App& app, int& code);
void add_taskset(CLI::App& app, int& code);
void add_prepare(CLI::App& app, int& code);
// `arguments`: everything after the command's name.
void add_ptxas(CLI::App& app, const std::vector<std::string>& arguments, int& code);
void add_report(CLI::App& app, int& code);
void add_trace(CLI::App& app, int& code);
void add_serve(CLI::App& app, int& code);
void add_status(CLI::App& app, int& code);
// `program`: what follows "--", if anything.
void add_exec(CLI::App& app, const std::vector<std::string>& program, int& code);
void add_record(CLI::App& app, const std::vector<std::string>& program, int& code);
void add_calibrate(CLI::App& app, const std::string& command, int& code);

}  // namespace gangway
