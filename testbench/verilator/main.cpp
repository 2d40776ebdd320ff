// Checks one generated core or array of cores, compiled by Verilator, against a vector file.
//
// Usage: Vcore FILE. D and W (vector length, bits of an element) are macros, FIXED for a core with
// fixed-point lanes, which has the ports v_exponent and o_overflow, BLOCK for an array of cores, and MASKS for cores
// with masks, which have the ports k_mask and o_empty, and in arrays q_from and q_to. Every cycle
// outside reset, v_step, v_ren, o_valid and an array's q_ready, k_ready and o_last are compared; o, o_index,
// o_invalid, o_overflow and o_empty while o_valid is high. Registers start with
// random contents, so that nothing may rely on a state before reset. The last line is
// `TEST PASSED: N checks` (exit status 0) or `TEST FAILED: ...` with the first difference (1).

#include "Vcore.h"
#include "verilated.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#if !defined(D) || !defined(W)
#error "define D and W"
#endif
static_assert(W % 4 == 0, "elements are written as whole hexadecimal digits");

namespace {

constexpr size_t ELEMENT = W / 4;      // digits of an element
constexpr size_t BUS = D * ELEMENT;    // digits of a vector
#if defined(MASKS) && defined(BLOCK)
constexpr size_t MASK = 16;            // digits before that of masks: q_from, q_to
#else
constexpr size_t MASK = 0;
#endif
#ifdef MASKS
constexpr size_t BLOCKS = MASK + 1;    // digits before those of a block: k_mask and o_empty
#else
constexpr size_t BLOCKS = MASK;
#endif
#ifdef BLOCK
constexpr size_t LANES = BLOCKS + 3;   // digits before those of the lanes: q_last and expected flags, o_index
#else
constexpr size_t LANES = BLOCKS;
#endif
#ifdef FIXED
constexpr size_t FLAGS = LANES + 3;    // digits before the flags: o_overflow, v_exponent
#else
constexpr size_t FLAGS = LANES;
#endif
constexpr size_t LINE = FLAGS + 2 + 4 * BUS;   // digits of a line

// Digit i of a port, 0 the least significant. A port is an unsigned integer of 8 to 64 bits or, if wider,
// an array of 32-bit words.
template <typename T>
void set_digit(T& port, size_t i, unsigned digit) {
    port = static_cast<T>(port | static_cast<T>(static_cast<T>(digit) << (4 * i)));
}
template <typename T>
unsigned get_digit(const T& port, size_t i) {
    return static_cast<unsigned>(port >> (4 * i)) & 15U;
}
template <typename T>
void clear(T& port) {
    port = 0;
}
template <size_t N>
void set_digit(VlWide<N>& port, size_t i, unsigned digit) {
    port[i / 8] |= static_cast<EData>(digit) << (4 * (i % 8));
}
template <size_t N>
unsigned get_digit(const VlWide<N>& port, size_t i) {
    return (port[i / 8] >> (4 * (i % 8))) & 15U;
}
template <size_t N>
void clear(VlWide<N>& port) {
    for (size_t i = 0; i < N; ++i) port[i] = 0;
}

// Value of a hexadecimal digit, or -1.
int value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Drives a port with the digits at `text`, most significant first.
template <typename T>
void drive(T& port, const char* text) {
    clear(port);
    for (size_t i = 0; i < BUS; ++i) set_digit(port, i, static_cast<unsigned>(value(text[BUS - 1 - i])));
}

// The digits of element j of a port.
template <typename T>
std::string element(const T& port, size_t j) {
    std::string text;
    for (size_t i = ELEMENT; i-- > 0;) text += "0123456789abcdef"[get_digit(port, j * ELEMENT + i)];
    return text;
}

[[noreturn]] void fail(const std::string& what) {
    std::cout << "TEST FAILED: " << what << std::endl;
    std::exit(1);
}

[[noreturn]] void differ(uint64_t cycle, const std::string& signal, const std::string& expected,
                         const std::string& actual) {
    fail("cycle " + std::to_string(cycle) + ": " + signal + ": expected " + expected + ", got " + actual);
}

uint64_t checks = 0;

void check_bit(uint64_t cycle, const char* signal, bool expected, bool actual) {
    ++checks;
    if (expected != actual) differ(cycle, signal, expected ? "1" : "0", actual ? "1" : "0");
}

template <typename T>
void check_result(uint64_t cycle, const T& port, const char* text) {
    ++checks;
    for (size_t j = 0; j < D; ++j) {
        const std::string expected(text + BUS - (j + 1) * ELEMENT, ELEMENT);
        const std::string actual = element(port, j);
        if (expected != actual) differ(cycle, "o[" + std::to_string(j) + "]", expected, actual);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) fail("usage: Vcore FILE");
    std::ifstream file(argv[1]);
    if (!file) fail(std::string("cannot open ") + argv[1]);

    const auto context = std::make_unique<VerilatedContext>();
    context->randReset(2);
    context->randSeed(1);
    const auto core = std::make_unique<Vcore>(context.get());
    core->clk = 0;

    const auto start = std::chrono::steady_clock::now();
    uint64_t cycle = 0;
    uint64_t results = 0;
    std::string line;
    for (; std::getline(file, line); ++cycle) {
        if (line.size() != LINE || file.eof()) {
            fail("cycle " + std::to_string(cycle) + ": the line is not " + std::to_string(LINE) +
                 " hexadecimal digits; D, W or the file is wrong");
        }
        for (const char c : line) {
            if (value(c) < 0) fail("cycle " + std::to_string(cycle) + ": the line is not hexadecimal");
        }
        const int flags = value(line[FLAGS]) << 4 | value(line[FLAGS + 1]);
        const auto flag = [flags](int bit) { return (flags >> bit & 1) != 0; };
        core->rst = flag(7);
        core->q_valid = flag(6);
        core->k_valid = flag(5);
        core->k_last = flag(4);
#ifdef FIXED
        core->v_exponent = value(line[LANES + 1]) << 4 | value(line[LANES + 2]);
#endif
#ifdef BLOCK
        const int block = value(line[BLOCKS]);
        core->q_last = block >> 3 & 1;
#endif
#ifdef MASKS
        const int mask = value(line[MASK]);
        core->k_mask = mask >> 1 & 1;
#ifdef BLOCK
        core->q_from = std::stoul(line.substr(0, 8), nullptr, 16);
        core->q_to = std::stoul(line.substr(8, 8), nullptr, 16);
#endif
#endif
        const char* vectors = line.data() + FLAGS + 2;
        drive(core->q, vectors);
        drive(core->k, vectors + BUS);
        drive(core->v, vectors + 2 * BUS);
        core->eval();
        if (!core->rst) {
            check_bit(cycle, "v_step", flag(3), core->v_step);
            check_bit(cycle, "v_ren", flag(2), core->v_ren);
            check_bit(cycle, "o_valid", flag(1), core->o_valid);
#ifdef BLOCK
            check_bit(cycle, "q_ready", block >> 2 & 1, core->q_ready);
            check_bit(cycle, "k_ready", block >> 1 & 1, core->k_ready);
            check_bit(cycle, "o_last", block & 1, core->o_last);
#endif
            if (flag(1)) {
#ifdef BLOCK
                const int index = value(line[BLOCKS + 1]) << 4 | value(line[BLOCKS + 2]);
                ++checks;
                if (core->o_index != index) differ(cycle, "o_index", std::to_string(index), std::to_string(core->o_index));
#endif
                check_bit(cycle, "o_invalid", flag(0), core->o_invalid);
#ifdef FIXED
                check_bit(cycle, "o_overflow", value(line[LANES]) != 0, core->o_overflow);
#endif
#ifdef MASKS
                check_bit(cycle, "o_empty", mask & 1, core->o_empty);
#endif
                check_result(cycle, core->o, vectors + 3 * BUS);
                ++results;
            }
        }
        core->clk = 1;
        core->eval();
        core->clk = 0;
        core->eval();
    }
    if (file.bad()) fail("the file could not be read to its end");
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    core->final();
    std::printf("%llu cycles, %llu results, %.0f cycles per second\n", static_cast<unsigned long long>(cycle),
                static_cast<unsigned long long>(results), cycle / time.count());
    std::fflush(stdout);
    if (results == 0) fail("no result was compared");
    std::cout << "TEST PASSED: " << checks << " checks" << std::endl;
    return 0;
}
