// Runs a fuzzer without libFuzzer: random inputs, or the files given.
//
// An input that ends the process is found again with the printed seed: inputs are numbered, and
// the number is printed every so often. Under a sanitizer the crash message follows it.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int run(const std::string& input) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

int run_files(int count, char** names) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", names[i]);
      return 1;
    }
    run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return 0;
}

// Short inputs are likely; runs of one byte, and the bytes that formats give a meaning, too.
std::string random_input(std::mt19937& random) {
  static constexpr std::uint8_t kTelling[] = {0x00, 0x01, 0x02, 0x11, 0x20, 0x21, 0x7F,
                                              0x80, 0x81, 0x82, 0xC0, 0xFE, 0xFF};
  std::string input;
  const std::size_t size = random() % (random() % 8 == 0 ? 2000 : 100);
  while (input.size() < size) {
    const std::uint32_t choice = random();
    const auto byte =
        static_cast<char>(choice % 2 == 0 ? kTelling[choice / 2 % sizeof kTelling] : choice >> 24);
    input.append(choice >> 8 & 15 ? 1 : random() % 200, byte);
  }
  return input;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count > 2 && std::strcmp(arguments[1], "--input") == 0)
    return run_files(argument_count - 2, arguments + 2);
  const int seconds = argument_count > 1 ? std::atoi(arguments[1]) : 10;
  const auto seed = argument_count > 2
                        ? static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10))
                        : std::random_device()();
  std::printf("seed %u\n", seed);
  std::fflush(stdout);
  std::mt19937 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    run(random_input(random));
    if (count % 65536 == 65535) {
      std::printf("%llu inputs\n", static_cast<unsigned long long>(count + 1));
      std::fflush(stdout);
    }
  }
  std::printf("%llu inputs, no failure\n", static_cast<unsigned long long>(count));
  return 0;
}
