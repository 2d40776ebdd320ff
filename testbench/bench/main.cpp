// Runs one generated core, compiled by Verilator, on a stream and prints how long it took.
//
// Usage: Vcore FILE REPEATS. D and W (vector length, bits of an element) are macros, FIXED for a core with the port
// v_exponent. FILE holds, little-endian, five 64-bit words (D, W, queries, keys, v_exponent) and then the queries, keys
// and values packed as on the ports, each vector in 32-bit words. Every query meets all keys, one a cycle, without
// a pause. The last line is JSON: keys, cycles, seconds of processor time, value reads, and a hash of all results.

#include "Vcore.h"
#include "verilated.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

#if !defined(D) || !defined(W)
#error "define D and W"
#endif

namespace {

constexpr size_t WORDS = (D * W + 31) / 32;  // 32-bit words of a vector

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(1);
}

// A port is an unsigned integer of up to 64 bits or, if wider, an array of 32-bit words.
template <typename T>
void drive(T& port, const uint32_t* words) {
    uint64_t value = words[0];
    if (WORDS > 1) value |= static_cast<uint64_t>(words[1]) << 32;
    port = static_cast<T>(value);
}
template <size_t N>
void drive(VlWide<N>& port, const uint32_t* words) {
    std::memcpy(port.data(), words, sizeof(uint32_t) * N);
}
template <typename T>
void read(const T& port, uint32_t* words) {
    words[0] = static_cast<uint32_t>(port);
    if (WORDS > 1) words[1] = static_cast<uint32_t>(static_cast<uint64_t>(port) >> 32);
}
template <size_t N>
void read(const VlWide<N>& port, uint32_t* words) {
    std::memcpy(words, port.data(), sizeof(uint32_t) * N);
}

double processor_time() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) fail("usage: Vcore FILE REPEATS");
    std::ifstream file(argv[1], std::ios::binary);
    uint64_t head[5];
    if (!file.read(reinterpret_cast<char*>(head), sizeof head)) fail(std::string("cannot read ") + argv[1]);
    const uint64_t queries = head[2], keys = head[3];
    if (head[0] != D || head[1] != W) fail("the stream is for another core");
    std::vector<uint32_t> data((queries + 2 * keys) * WORDS);
    if (!file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(4 * data.size()))) {
        fail("the stream ends early");
    }
    const uint32_t* const q = data.data();
    const uint32_t* const k = q + queries * WORDS;
    const uint32_t* const v = k + keys * WORDS;
    const int repeats = std::atoi(argv[2]);

    double best = 0;
    uint64_t hash = 0, cycles = 0, reads = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const auto context = std::make_unique<VerilatedContext>();
        const auto core = std::make_unique<Vcore>(context.get());
        core->clk = 0;
        core->rst = 1;
        core->q_valid = 0;
        core->k_valid = 0;
        core->eval();
        const auto edge = [&core] {
            core->clk = 1;
            core->eval();
            core->clk = 0;
            core->eval();
        };
        edge();
        edge();
        core->rst = 0;
        core->q_valid = 1;
#ifdef FIXED
        core->v_exponent = head[4];
#endif
        drive(core->q, q);
        edge();

        const double start = processor_time();
        hash = 0xcbf29ce484222325;
        cycles = reads = 0;
        uint64_t query = 0, key = 0, value = 0, results = 0;
        uint32_t o[WORDS] = {};
        while (results < queries) {
            core->q_valid = 0;
            core->k_valid = query < queries;
            if (query < queries) {
                drive(core->k, k + key * WORDS);
                const bool last = ++key == keys;
                core->k_last = last;
                if (last) {
                    key = 0;
                    if (++query < queries) {
                        core->q_valid = 1;
                        drive(core->q, q + query * WORDS);
                    }
                }
            }
            // The outputs of this cycle: registers, which the last edge has set.
            if (core->o_valid) {
                read(core->o, o);
                for (const uint32_t word : o) hash = (hash ^ word) * 0x100000001b3;
                ++results;
            }
            const bool step = core->v_step, ren = core->v_ren;
            edge();
            if (ren) {
                drive(core->v, v + value * WORDS);
                ++reads;
            }
            if (step && ++value == keys) value = 0;
            ++cycles;
        }
        const double seconds = processor_time() - start;
        if (repeat == 0 || seconds < best) best = seconds;
        core->final();
    }
    std::printf("{\"keys\": %llu, \"cycles\": %llu, \"seconds\": %.6f, \"v_reads\": %llu, \"hash\": \"%016llx\"}\n",
                static_cast<unsigned long long>(queries * keys), static_cast<unsigned long long>(cycles), best,
                static_cast<unsigned long long>(reads), static_cast<unsigned long long>(hash));
    return 0;
}
