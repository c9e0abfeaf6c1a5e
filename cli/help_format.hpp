// How help shows what options and arguments take.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class Formatter;
}

namespace gangway {

// For the app, before its subcommands are added: these inherit it.
std::shared_ptr<CLI::Formatter> help_format();

// A type and checks as CLI11 names them, for readers: "UINT:INT in [1 - 8]" is "N (1 to 8)", "TEXT:{a,b}" is
// "{a,b}", "FILE:{a,b}" is "{a,b} or FILE".
std::string readable_type(const std::string& type);

}  // namespace gangway
