// Starting somebody's program as it is, and ending as it does.
#pragma once

#include <string>
#include <vector>

namespace gangway {

// Exit codes, as shells have them.
inline constexpr int kProgramNotFound = 127, kProgramNotExecutable = 126;

// 0 where it can be tried; else one of the codes above, said in a line on stderr. A name without a slash is
// looked for in PATH.
int refuse_program(const std::string& program);

// Where an executable file of that name is, by PATH unless it has a slash; empty: nowhere.
std::string path_of_program(const std::string& program);

// What a program prints on its standard output, with nothing on its standard input and its errors thrown
// away. Empty also where it cannot be started or fails.
std::string output_of_program(const std::vector<std::string>& command);

// Starts it with this process's environment and files, and waits for its end: the status of waitpid().
// Signals that reach this process alone in the meantime go on to it; those of the terminal are left to it.
// Where it cannot be executed, that is said on stderr, and `refused` is the exit code; else 0. RunError where
// there is no process to be had.
int run_program(const std::vector<std::string>& command, int& refused);

// What is left to do with the status: dies of the signal that it died of, or returns its exit code.
int end_alike(int status);

// A file beside this program, or in ../lib/gangway where it is installed. RunError where it is at neither
// place: `name` is not beside gangway: `why`.
std::string library_beside_program(const std::string& name, const std::string& why);

// The file of a library that dlopen() returned, without links; empty: not known.
std::string path_of_library(void* library);

}  // namespace gangway
