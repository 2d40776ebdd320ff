// Runs one generated attention unit, compiled by Verilator, with a memory and a host, and prints how long it took.
//
// Usage: Vunit STREAM REPEATS. STREAM comes from the example unit_throughput of the simulator, which says what it holds. The memory is the
// simulator's: it takes every address and every beat at once, answers reads in the order in which it took them, the first beat of a burst LATENCY
// cycles after its address, and a beat in each cycle; writes are answered LATENCY cycles after their last beat. The host writes the job's
// registers and waits for the interrupt. The last line is JSON: cycles with BUSY, seconds of processor time of a run, and a hash of all results.

#include "Vunit.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

namespace {

constexpr uint32_t CYCLES = 0x40;  // address of the register

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(1);
}

// A port is an unsigned integer of up to 64 bits or, if wider, an array of 32-bit words.
template <typename T>
uint8_t* bytes(T& port) {
    return reinterpret_cast<uint8_t*>(&port);
}
template <size_t N>
uint8_t* bytes(VlWide<N>& port) {
    return reinterpret_cast<uint8_t*>(port.data());
}

double processor_time() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Read {
    uint64_t address, due, id, left;
};
struct Write {
    uint64_t address;
};

struct Memory {
    uint64_t beat, latency, base;
    std::vector<uint8_t> data;
    std::deque<Read> reads;
    std::deque<Write> writes;
    std::deque<uint64_t> answers;

    uint8_t* at(uint64_t address) {
        if (address < base || address + beat > base + data.size()) fail("an address outside of the job");
        return data.data() + (address - base);
    }

    // The inputs of a cycle.
    void offer(Vunit& unit, uint64_t cycle) {
        unit.m_axi_arready = unit.m_axi_awready = unit.m_axi_wready = 1;
        unit.m_axi_rvalid = !reads.empty() && reads.front().due <= cycle;
        if (unit.m_axi_rvalid) {
            const Read& read = reads.front();
            std::memcpy(bytes(unit.m_axi_rdata), at(read.address), beat);
            unit.m_axi_rid = read.id;
            unit.m_axi_rlast = read.left == 1;
        }
        unit.m_axi_bvalid = !answers.empty() && answers.front() <= cycle;
    }

    // What was transferred in a cycle; the unit takes every beat and every answer.
    void advance(Vunit& unit, uint64_t cycle) {
        if (unit.m_axi_rvalid) {
            Read& read = reads.front();
            read.address += beat;
            if (--read.left == 0) reads.pop_front();
        }
        if (unit.m_axi_bvalid) answers.pop_front();
        if (unit.m_axi_arvalid) {
            reads.push_back({unit.m_axi_araddr, cycle + latency, unit.m_axi_arid, unit.m_axi_arlen + 1ull});
        }
        if (unit.m_axi_awvalid) writes.push_back({unit.m_axi_awaddr});
        if (unit.m_axi_wvalid) {
            if (writes.empty()) fail("data before their address");
            const uint8_t* const from = bytes(unit.m_axi_wdata);
            const uint8_t* const strobes = bytes(unit.m_axi_wstrb);
            uint8_t* const to = at(writes.front().address);
            for (uint64_t lane = 0; lane < beat; ++lane) {
                if (strobes[lane / 8] >> (lane % 8) & 1) to[lane] = from[lane];
            }
            writes.front().address += beat;
            if (unit.m_axi_wlast) {
                writes.pop_front();
                answers.push_back(cycle + latency);
            }
        }
    }
};

struct Bench {
    Vunit& unit;
    Memory& memory;
    uint64_t cycle = 0;

    void clock() {
        memory.offer(unit, cycle);
        unit.eval();
        memory.advance(unit, cycle);
        unit.aclk = 1;
        unit.eval();
        unit.aclk = 0;
        ++cycle;
    }

    void write(uint64_t address, uint64_t value) {
        unit.s_axil_awaddr = address;
        unit.s_axil_wdata = value;
        unit.s_axil_wstrb = 15;
        unit.s_axil_awvalid = unit.s_axil_wvalid = unit.s_axil_bready = 1;
        bool answered = false;
        for (int waited = 0; !answered; ++waited) {
            if (waited > 100) fail("a register does not answer");
            unit.eval();
            const bool aw = unit.s_axil_awready, w = unit.s_axil_wready;
            answered = unit.s_axil_bvalid;
            clock();
            if (aw) unit.s_axil_awvalid = 0;
            if (w) unit.s_axil_wvalid = 0;
        }
        unit.s_axil_bready = 0;
    }

    uint64_t read(uint64_t address) {
        unit.s_axil_araddr = address;
        unit.s_axil_arvalid = unit.s_axil_rready = 1;
        for (int waited = 0; waited < 100; ++waited) {
            unit.eval();
            const bool ar = unit.s_axil_arready, valid = unit.s_axil_rvalid;
            const uint64_t data = unit.s_axil_rdata;
            clock();
            if (ar) unit.s_axil_arvalid = 0;
            if (valid) {
                unit.s_axil_rready = 0;
                return data;
            }
        }
        fail("a register does not answer");
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) fail("usage: Vunit STREAM REPEATS");
    std::ifstream file(argv[1], std::ios::binary);
    const auto get = [&file](void* to, uint64_t size) {
        if (!file.read(static_cast<char*>(to), static_cast<std::streamsize>(size))) fail("the stream ends early");
    };
    uint64_t head[7];
    get(head, sizeof head);
    const auto [beat, latency, operands, operand_bytes, results, result_bytes, count] = head;
    std::vector<uint64_t> writes(2 * count);
    get(writes.data(), 8 * writes.size());
    // Whole beats around everything.
    const uint64_t base = std::min(operands, results) / beat * beat;
    const uint64_t end = std::max(operands + operand_bytes, results + result_bytes) + beat;
    std::vector<uint8_t> image(end - base);
    get(image.data() + (operands - base), operand_bytes);

    double best = 0;
    uint64_t hash = 0, cycles = 0;
    for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
        const auto context = std::make_unique<VerilatedContext>();
        const auto unit = std::make_unique<Vunit>(context.get());
        Memory memory{beat, latency, base, image, {}, {}, {}};
        Bench bench{*unit, memory};
        unit->aresetn = 0;
        bench.clock();
        bench.clock();
        unit->aresetn = 1;
        const double start = processor_time();
        for (uint64_t i = 0; i < count; ++i) bench.write(writes[2 * i], writes[2 * i + 1]);
        for (uint64_t from = bench.cycle; !unit->irq;) {
            bench.clock();
            if (bench.cycle - from > 1000000000) fail("no interrupt");
        }
        const double seconds = processor_time() - start;
        best = repeat == 0 || seconds < best ? seconds : best;
        cycles = bench.read(CYCLES);
        hash = 0xcbf29ce484222325;
        for (uint64_t i = 0; i < result_bytes; ++i) hash = (hash ^ memory.data[results - base + i]) * 0x100000001b3;
    }
    std::printf("{\"cycles\": %llu, \"seconds\": %.6f, \"hash\": \"%016llx\"}\n", static_cast<unsigned long long>(cycles), best,
                static_cast<unsigned long long>(hash));
    return 0;
}
