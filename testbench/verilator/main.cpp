// Checks one generated design, compiled by Verilator, against a vector file or a pipe.
//
// Usage: Vdesign FILE [+waves[=DUMP.vcd]], with - for standard input. Compiled with --trace it writes waves, and GTKWave's save file
// next to them. The ports come from the header that `flashd generate --testbench`
// writes next to the design (macro PORTS_H names it): each port's digits in a line, and when an output is compared:
// every cycle outside reset, while v_ren or o_valid is high, or while o_valid is and o_empty is not. Registers start with random
// contents, so that nothing may rely on a state before reset. The last line is `TEST PASSED: N checks` (exit
// status 0) or `TEST FAILED: ...` with the first difference (1).

#include "Vdesign.h"
#include "verilated.h"
#include PORTS_H
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

namespace {

// Value of a hexadecimal digit, or -1.
int value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Drives a port with digits, most significant first. A port is an unsigned integer of 8 to 64 bits or, if wider,
// an array of 32-bit words.
template <typename T>
void drive(T& port, const char* text, size_t digits) {
    uint64_t all = 0;
    for (size_t i = 0; i < digits; ++i) all = all << 4 | static_cast<uint64_t>(value(text[i]));
    port = static_cast<T>(all);
}
template <size_t N>
void drive(VlWide<N>& port, const char* text, size_t digits) {
    for (size_t i = 0; i < N; ++i) port[i] = 0;
    for (size_t i = 0; i < digits; ++i) {
        port[i / 8] |= static_cast<EData>(value(text[digits - 1 - i])) << (4 * (i % 8));
    }
}

// Digit i of a port, 0 the least significant.
template <typename T>
unsigned digit(const T& port, size_t i) {
    return static_cast<unsigned>(static_cast<uint64_t>(port) >> (4 * i)) & 15U;
}
template <size_t N>
unsigned digit(const VlWide<N>& port, size_t i) {
    return (port[i / 8] >> (4 * (i % 8))) & 15U;
}

#if VM_TRACE
std::unique_ptr<VerilatedVcdC> waves;

// GTKWave's save file of a dump: every port by its name there.
void write_save_file(const std::string& dump) {
    const size_t folder = dump.find_last_of('/') + 1;
    const std::string stem = dump.substr(folder, dump.rfind(".vcd") - folder);
    std::ofstream file(dump.substr(0, folder) + stem + ".gtkw");
    // GTKWave looks for the dump where the save file is, if it knows both by absolute paths.
    file << "[dumpfile] \"/" << stem << ".vcd\"\n[savefile] \"/" << stem << ".gtkw\"\n[timestart] 0\n[treeopen] TOP." << DESIGN << ".\n";
    const auto show = [&](const char* name, unsigned bits) {
        file << (bits == 1 ? "@28\n" : "@22\n") << "TOP." << DESIGN << '.' << name;
        if (bits > 1) file << '[' << bits - 1 << ":0]";
        file << '\n';
    };
#define SIGNAL(name, bits) show(#name, bits);
    SIGNALS(SIGNAL)
#undef SIGNAL
}
#endif

[[noreturn]] void fail(const std::string& what) {
#if VM_TRACE
    waves.reset();
#endif
    std::cout << "TEST FAILED: " << what << std::endl;
    std::exit(1);
}

// Bits [low +: bits] of digits, most significant digit first, as hexadecimal text.
template <typename Digit>
std::string bits_of(Digit digit, size_t low, size_t bits) {
    std::string text;
    for (size_t i = (bits + 3) / 4; i-- > 0;) {
        unsigned nibble = 0;
        for (size_t b = 0; b < 4 && 4 * i + b < bits; ++b) {
            const size_t at = low + 4 * i + b;
            nibble |= (digit(at / 4) >> (at % 4) & 1U) << b;
        }
        text += "0123456789abcdef"[nibble];
    }
    return text;
}

uint64_t checks = 0;

template <typename T>
void check(uint64_t cycle, const char* name, const T& port, const char* text, size_t digits, size_t width,
           size_t elements) {
    ++checks;
    const auto expected = [&](size_t i) { return static_cast<unsigned>(value(text[digits - 1 - i])); };
    const auto actual = [&](size_t i) { return digit(port, i); };
    bool equal = true;
    for (size_t i = 0; i < digits; ++i) equal &= expected(i) == actual(i);
    if (equal) return;
    for (size_t j = 0; j < elements; ++j) {
        const std::string e = bits_of(expected, j * width, width);
        const std::string a = bits_of(actual, j * width, width);
        if (e == a) continue;
        const std::string place = elements > 1 ? "[" + std::to_string(j) + "]" : "";
        fail("cycle " + std::to_string(cycle) + ": " + name + place + ": expected " + e + ", got " + a);
    }
    fail("cycle " + std::to_string(cycle) + ": " + name + ": bits beyond the port's width");
}

}  // namespace

int main(int argc, char** argv) {
    const bool traced = argc == 3 && std::strncmp(argv[2], "+waves", 6) == 0;
    if (argc != 2 && !traced) fail("usage: Vdesign FILE [+waves[=DUMP.vcd]], or - for standard input");
#if !VM_TRACE
    if (traced) fail("+waves: the design is compiled without --trace");
#endif
    std::ifstream opened;
    const bool piped = std::strcmp(argv[1], "-") == 0;
    if (piped) {
        std::ios::sync_with_stdio(false);
    } else {
        opened.open(argv[1]);
    }
    std::istream& file = piped ? std::cin : opened;
    if (!file) fail(std::string("cannot open ") + argv[1]);

    const auto context = std::make_unique<VerilatedContext>();
    context->randReset(2);
    context->randSeed(1);
    const auto design = std::make_unique<Vdesign>(context.get());
#if VM_TRACE
    if (traced) {
        const std::string dump = argv[2][6] == '=' ? argv[2] + 7 : DESIGN ".vcd";
        context->traceEverOn(true);
        waves = std::make_unique<VerilatedVcdC>();
        design->trace(waves.get(), 99);
        waves->open(dump.c_str());
        if (!waves->isOpen()) fail("cannot write " + dump);
        write_save_file(dump);
    }
    // A cycle is 10 units: inputs and outputs at its start, the edge in its middle.
    const auto record = [&](uint64_t time) {
        if (waves) waves->dump(time);
    };
#else
    const auto record = [](uint64_t) {};
#endif

    const auto start = std::chrono::steady_clock::now();
    uint64_t cycle = 0;
    uint64_t results = 0;
    std::string line;
    if (!std::getline(file, line) || line != HEADER) {
        fail(std::string("the first line is not that of this design's vectors, which is ") + HEADER);
    }
    const std::string end(DIGITS, 'f');
    bool ended = false;
    for (; !ended && std::getline(file, line); ++cycle) {
        if (line == end) {
            ended = true;
            break;
        }
        if (line.size() != DIGITS) {
            fail("cycle " + std::to_string(cycle) + ": the line is not " + std::to_string(DIGITS) +
                 " hexadecimal digits");
        }
        for (const char c : line) {
            if (value(c) < 0) fail("cycle " + std::to_string(cycle) + ": the line is not hexadecimal");
        }
        const char* text = line.data();
#define PORT(name, first, digits) drive(design->name, text + first, digits);
        INPUTS(PORT)
#undef PORT
#if CLOCKED
        design->clk = 0;
        design->eval();
        record(10 * cycle);
        const bool always = text[RESET_DIGIT] == '0';
        const bool with_read = always && text[READ_DIGIT] == '1';
        const bool with_result = always && text[RESULT_DIGIT] == '1';
#ifdef EMPTY_DIGIT
        const bool with_state = with_result && text[EMPTY_DIGIT] == '0';
#else
        const bool with_state = with_result;
#endif
#else
        design->eval();
        record(10 * cycle);
        const bool always = true;
        const bool with_read = true;
        const bool with_result = true;
        const bool with_state = true;
#endif
        results += with_result ? 1 : 0;
        const bool compared[] = {always, with_read, with_result, with_state};
        enum { ALWAYS, WITH_READ, WITH_RESULT, WITH_STATE };
#define PORT(name, first, digits, width, elements, when) \
    if (compared[when]) check(cycle, #name, design->name, text + first, digits, width, elements);
        OUTPUTS(PORT)
#undef PORT
#if CLOCKED
        design->clk = 1;
        design->eval();
        record(10 * cycle + 5);
#endif
    }
    if (!ended) fail("no end mark after " + std::to_string(cycle) + " cycles: the file is cut off");
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    design->final();
#if VM_TRACE
    // Before the design and its context.
    waves.reset();
#endif
    std::printf("%llu cycles, %llu results, %.0f cycles per second\n", static_cast<unsigned long long>(cycle),
                static_cast<unsigned long long>(results), cycle / time.count());
    std::fflush(stdout);
    if (results == 0) fail("no result was compared");
    std::cout << "TEST PASSED: " << checks << " checks" << std::endl;
    return 0;
}
