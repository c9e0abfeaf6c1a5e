// Starting another program unchanged, and ending as it ended.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace gangway {

// Exit codes, as in shells.
inline constexpr int kProgramNotFound = 127, kProgramNotExecutable = 126;

// 0 if the program can be tried; else one of the codes above, after a line on stderr. A name without a slash
// is looked up in PATH.
int refuse_program(const std::string& program);

// Path of an executable, looked up in PATH unless it has a slash; empty if there is none.
std::string path_of_program(const std::string& program);

// Why the loader does not let this process's environment choose the program's libraries: it "is set-user-id",
// "is set-group-id" (to another than this process's) or "has file capabilities"; empty: it does, or there is
// no such program. A name without a slash is looked up in PATH.
std::string raised_rights_of(const std::string& program);

// Standard output of a program with empty standard input and discarded errors. Empty if it cannot be started
// or fails.
std::string output_of_program(const std::vector<std::string>& command);

// From now on it can be learnt how children end, also where this process was started with SIGCHLD ignored.
// Returns how it was started.
const struct sigaction& await_children();

// Starts a program with this process's environment and files and waits for it: the status of waitpid().
// Signals sent to this process alone are forwarded; those of the terminal reach it directly. If this process
// is killed, the program is, too. If it cannot be executed, says so on stderr and sets `refused` to the exit
// code; else 0. RunError if no process can be created.
int run_program(const std::vector<std::string>& command, int& refused);

// Dies of the signal that the program died of, or returns its exit code.
int end_alike(int status);

// Path of a file beside this program or, if installed, in ../lib/gangway. RunError if in neither place:
// `name` is not beside gangway: `why`.
std::string library_beside_program(const std::string& name, const std::string& why);

// The file, with links resolved, of a library that dlopen() returned; empty if unknown.
std::string path_of_library(void* library);

}  // namespace gangway
