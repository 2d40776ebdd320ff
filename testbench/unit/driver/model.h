// A verilated attention unit, the memory at its AXI4 port, and access to its registers by AXI4-Lite.
#ifndef MODEL_H
#define MODEL_H

#include "Vunit.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

[[noreturn]] inline void fails(const char *file, int line, const char *what)
{
    std::printf("%s:%d: %s\nTEST FAILED\n", file, line, what);
    std::exit(1);
}

extern unsigned checks;
#define CHECK(condition) ((condition) ? (void)checks++ : fails(__FILE__, __LINE__, #condition))

// Bytes behind AXI4. Bursts of one direction are answered in their order, with latency and pauses.
class Memory {
public:
    static constexpr uint64_t SIZE = 1 << 20;
    static constexpr unsigned OKAY = 0, SLVERR = 2, DECERR = 3, BEAT = sizeof(Vunit::m_axi_rdata);
    std::vector<uint8_t> bytes;
    // Beats that touch this address are answered with SLVERR.
    uint64_t broken = SIZE;

    Memory() : bytes(SIZE)
    {
        for (uint8_t &byte : bytes)
            byte = uint8_t(random());
    }

    // The inputs of the next edge.
    void drive(Vunit &unit)
    {
        unit.m_axi_arready = random() % 4 != 0;
        unit.m_axi_awready = random() % 4 != 0;
        unit.m_axi_wready = random() % 4 != 0;
        if (!unit.m_axi_rvalid && !reads.empty() && reads.front().due <= cycle && random() % 8 != 0)
            offer(unit, reads.front());
        if (!unit.m_axi_bvalid && !answers.empty() && answers.front().due <= cycle) {
            unit.m_axi_bvalid = 1;
            unit.m_axi_bid = answers.front().id;
            unit.m_axi_bresp = answers.front().answer;
        }
    }

    // The transfers of an edge, before it.
    void edge(Vunit &unit)
    {
        cycle++;
        if (unit.m_axi_rvalid && unit.m_axi_rready)
            taken.r = true;
        if (unit.m_axi_bvalid && unit.m_axi_bready)
            taken.b = true;
        if (unit.m_axi_arvalid && unit.m_axi_arready)
            reads.push_back(burst(unit.m_axi_arid, unit.m_axi_araddr, unit.m_axi_arlen, unit.m_axi_arburst, unit.m_axi_arsize));
        if (unit.m_axi_awvalid && unit.m_axi_awready)
            writes.push_back(burst(unit.m_axi_awid, unit.m_axi_awaddr, unit.m_axi_awlen, unit.m_axi_awburst, unit.m_axi_awsize));
        if (unit.m_axi_wvalid && unit.m_axi_wready)
            words.push_back(word(unit));
        store();
    }

    // Withdraws transferred beats, after the edge.
    void withdraw(Vunit &unit)
    {
        if (taken.r) {
            unit.m_axi_rvalid = 0;
            Burst &read = reads.front();
            read.at = (read.at / BEAT + 1) * BEAT;
            if (read.beats-- == 1)
                reads.pop_front();
        }
        if (taken.b) {
            unit.m_axi_bvalid = 0;
            answers.pop_front();
        }
        taken = {};
    }

    // Whether every burst is answered.
    bool quiet() const { return reads.empty() && writes.empty() && words.empty() && answers.empty(); }

private:
    static constexpr unsigned INCR = 1, LATENCY = 20;
    struct Burst {
        unsigned id, beats, answer;
        uint64_t at, due;
    };
    struct Word {
        uint8_t bytes[BEAT];
        uint64_t strobes;
        bool last;
    };
    std::mt19937 random{1};
    std::deque<Burst> reads, writes, answers;
    std::deque<Word> words;
    struct {
        bool r, b;
    } taken{};
    uint64_t cycle = 0;

    Burst burst(unsigned id, uint64_t at, unsigned length, unsigned kind, unsigned size) const
    {
        CHECK(kind == INCR && 1u << size == BEAT && at / 4096 == (at / BEAT * BEAT + length * BEAT) / 4096);
        return {id, length + 1, OKAY, at, cycle + LATENCY};
    }

    unsigned answer(uint64_t first) const
    {
        return first + BEAT > SIZE ? DECERR : first <= broken && broken < first + BEAT ? SLVERR : OKAY;
    }

    void offer(Vunit &unit, const Burst &read)
    {
        uint64_t first = read.at / BEAT * BEAT;
        unit.m_axi_rvalid = 1;
        unit.m_axi_rid = read.id;
        unit.m_axi_rlast = read.beats == 1;
        unit.m_axi_rresp = answer(first);
        if (unit.m_axi_rresp == OKAY)
            std::memcpy(&unit.m_axi_rdata, &bytes[first], BEAT);
    }

    static Word word(const Vunit &unit)
    {
        Word word{};
        std::memcpy(word.bytes, &unit.m_axi_wdata, BEAT);
        std::memcpy(&word.strobes, &unit.m_axi_wstrb, sizeof unit.m_axi_wstrb);
        word.last = unit.m_axi_wlast;
        return word;
    }

    // Beats whose burst is known.
    void store()
    {
        while (!writes.empty() && !words.empty()) {
            Burst &write = writes.front();
            uint64_t first = write.at / BEAT * BEAT;
            unsigned resp = answer(first);
            for (unsigned i = 0; i < BEAT && resp == OKAY; i++)
                if (words.front().strobes >> i & 1)
                    bytes[first + i] = words.front().bytes[i];
            write.answer = resp > write.answer ? resp : write.answer;
            write.at = first + BEAT;
            CHECK(words.front().last == (write.beats == 1));
            words.pop_front();
            if (write.beats-- == 1) {
                write.due = cycle + LATENCY;
                answers.push_back(write);
                writes.pop_front();
            }
        }
    }
};

// The unit with its clock.
class Model {
public:
    Memory memory;

    Model()
    {
        unit.aresetn = 0;
        unit.s_axil_awvalid = unit.s_axil_wvalid = unit.s_axil_bready = unit.s_axil_arvalid = unit.s_axil_rready = 0;
        unit.m_axi_rvalid = unit.m_axi_bvalid = 0;
        for (int i = 0; i < 4; i++)
            tick();
        unit.aresetn = 1;
    }

    ~Model() { unit.final(); }

    void tick()
    {
        memory.drive(unit);
        unit.aclk = 0;
        unit.eval();
        if (unit.aresetn)
            memory.edge(unit);
        lite = {unit.s_axil_awready != 0, unit.s_axil_wready != 0, unit.s_axil_arready != 0};
        unit.aclk = 1;
        unit.eval();
        memory.withdraw(unit);
        if (++cycles > LIMIT)
            fails(__FILE__, __LINE__, "the unit never ends");
    }

    bool irq() const { return unit.irq != 0; }

    uint32_t read(uint32_t offset)
    {
        unit.s_axil_araddr = offset;
        unit.s_axil_arvalid = 1;
        unit.s_axil_rready = 1;
        do
            tick();
        while (!lite.ar);
        unit.s_axil_arvalid = 0;
        while (!unit.s_axil_rvalid)
            tick();
        uint32_t data = unit.s_axil_rdata;
        CHECK(unit.s_axil_rresp == Memory::OKAY);
        tick();
        unit.s_axil_rready = 0;
        return data;
    }

    void write(uint32_t offset, uint32_t value)
    {
        unit.s_axil_awaddr = offset;
        unit.s_axil_wdata = value;
        unit.s_axil_wstrb = 15;
        unit.s_axil_awvalid = unit.s_axil_wvalid = unit.s_axil_bready = 1;
        while (unit.s_axil_awvalid || unit.s_axil_wvalid) {
            tick();
            unit.s_axil_awvalid = unit.s_axil_awvalid && !lite.aw;
            unit.s_axil_wvalid = unit.s_axil_wvalid && !lite.w;
        }
        while (!unit.s_axil_bvalid)
            tick();
        CHECK(unit.s_axil_bresp == Memory::OKAY);
        tick();
        unit.s_axil_bready = 0;
    }

private:
    static constexpr uint64_t LIMIT = 1'000'000;
    Vunit unit;
    struct {
        bool aw, w, ar;
    } lite{};
    uint64_t cycles = 0;
};

#endif
