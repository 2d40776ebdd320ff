// The driver of an attention unit on this machine. Its register accesses go to the verilated unit.
//
// flashd_unit.c is compiled as it is emitted; jobs read and write a memory at the unit's AXI4 port. After each job all of memory is
// compared with the results of `flashd simulate`, and with the bytes that no job writes.
#include "model.h"

#include "flashd_unit.h"
#include "head.h"

unsigned checks;

namespace {

constexpr uint32_t Q = 0x1000, K = 0x8008, V = 0x10004, O = 0x20002, GAP = 0x8000, CHAIN = 0x60000;

uint32_t read(void *model, uint32_t offset) { return static_cast<Model *>(model)->read(offset); }
void write(void *model, uint32_t offset, uint32_t value) { static_cast<Model *>(model)->write(offset, value); }

struct Bench {
    Model model;
    flashd_unit unit;
    // All of memory as it should be.
    std::vector<uint8_t> image;
    // Calls of the handler's callback, and the result of its poll.
    unsigned calls = 0;
    flashd_unit_result result = FLASHD_UNIT_RUNS;

    Bench()
    {
        flashd_unit_bus bus{};
        bus.context = &model;
        bus.read = read;
        bus.write = write;
        CHECK(flashd_unit_probe(&unit, bus) == FLASHD_UNIT_OK);
        place(Q, head_q, sizeof head_q);
        place(K, head_k, sizeof head_k);
        place(V, head_v, sizeof head_v);
        image = model.memory.bytes;
    }

    void place(uint32_t at, const void *from, size_t size) { std::memcpy(&model.memory.bytes[at], from, size); }

    // The job whose results are the number-th ones of memory.
    flashd_unit_descriptor job(unsigned number, bool causal) const
    {
        flashd_unit_descriptor job;
        flashd_unit_job(&unit, &job, HEAD_TOKENS, HEAD_TOKENS, 1, 1);
        job.flags = causal ? FLASHD_UNIT_FLAG_CAUSAL : 0;
        job.q = Q;
        job.k = K;
        job.v = V;
        job.o = O + number * GAP;
        return job;
    }

    // Descriptors in memory, linked.
    void chain(std::vector<flashd_unit_descriptor> jobs)
    {
        for (size_t i = 0; i < jobs.size(); i++) {
            uint32_t at = uint32_t(CHAIN + i * sizeof jobs[i]);
            if (i + 1 < jobs.size())
                flashd_unit_link(&jobs[i], at + sizeof jobs[i]);
            place(at, &jobs[i], sizeof jobs[i]);
            std::memcpy(&image[at], &jobs[i], sizeof jobs[i]);
        }
    }

    // Compares all of memory, after the job with these results.
    void written(const flashd_unit_descriptor &job)
    {
        std::memcpy(&image[job.o], job.flags & FLASHD_UNIT_FLAG_CAUSAL ? head_o_causal : head_o, sizeof head_o);
        unchanged();
    }

    void unchanged() { CHECK(model.memory.quiet() && image == model.memory.bytes); }

    // As a processor that sleeps: no access before the interrupt.
    void sleep()
    {
        while (!model.irq())
            model.tick();
        flashd_unit_interrupt(&unit);
    }

    static void ended(flashd_unit *unit, void *context)
    {
        Bench *bench = static_cast<Bench *>(context);
        bench->calls++;
        bench->result = flashd_unit_poll(unit);
    }
};

void probe(Bench &bench)
{
    const flashd_unit_capabilities &has = bench.unit.capabilities;
    CHECK(has.config == FLASHD_UNIT_CONFIG_RESET);
    CHECK(has.q_bytes * HEAD_TOKENS == sizeof head_q && has.o_bytes * HEAD_TOKENS == sizeof head_o);
    CHECK(has.beat_bytes == sizeof(Vunit::m_axi_rdata) && has.masks);
    // Other registers: not a unit.
    flashd_unit none;
    flashd_unit_bus bus{};
    bus.context = &bench.model;
    bus.read = [](void *model, uint32_t offset) { return read(model, offset) + 1; };
    bus.write = write;
    CHECK(flashd_unit_probe(&none, bus) == FLASHD_UNIT_NOT_FOUND);
}

void a_job_by_registers(Bench &bench)
{
    for (bool causal : {true, false}) {
        flashd_unit_descriptor job = bench.job(causal, causal);
        CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_OK);
        CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_RUNS);
        CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_RUNS);
        CHECK(flashd_unit_wait(&bench.unit, 2) == FLASHD_UNIT_TIMEOUT);
        CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_OK && !bench.model.irq());
        bench.written(job);
        flashd_unit_counters counters;
        flashd_unit_count(&bench.unit, &counters);
        CHECK(counters.jobs == 1 && counters.cycles > HEAD_TOKENS && counters.bytes_control == 0);
        CHECK(counters.bytes_queries == sizeof head_q && counters.bytes_written == sizeof head_o);
    }
}

void a_chain(Bench &bench)
{
    bench.chain({bench.job(2, true), bench.job(3, false), bench.job(4, true)});
    CHECK(flashd_unit_submit(&bench.unit, CHAIN + 4) == FLASHD_UNIT_UNALIGNED);
    CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_OK);
    for (unsigned i = 2; i < 4; i++)
        std::memcpy(&bench.image[O + i * GAP], i == 3 ? head_o : head_o_causal, sizeof head_o);
    bench.written(bench.job(4, true));
    flashd_unit_counters counters;
    flashd_unit_count(&bench.unit, &counters);
    CHECK(counters.jobs == 3 && counters.bytes_control >= 3 * 148);
}

void interrupts(Bench &bench)
{
    flashd_unit_on_end(&bench.unit, Bench::ended, &bench);
    flashd_unit_descriptor job = bench.job(5, true);
    CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_OK);
    bench.sleep();
    CHECK(bench.calls == 1 && bench.result == FLASHD_UNIT_OK && !bench.model.irq());
    bench.written(job);
    // The first of three jobs interrupts, and the last of a chain in any case.
    flashd_unit_descriptor first = bench.job(0, true), second = bench.job(1, false), third = bench.job(2, false);
    first.flags |= FLASHD_UNIT_FLAG_INTERRUPT;
    bench.chain({first, second, third});
    CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_OK);
    bench.sleep();
    CHECK(bench.calls == 2 && bench.result == FLASHD_UNIT_RUNS && !bench.model.irq());
    // Polls do not take the interrupt of a job that ends meanwhile.
    flashd_unit_counters counters{};
    while (counters.jobs < 2) {
        CHECK(flashd_unit_poll(&bench.unit) == FLASHD_UNIT_RUNS);
        flashd_unit_count(&bench.unit, &counters);
    }
    bench.sleep();
    CHECK(bench.calls == 3 && bench.result == FLASHD_UNIT_OK && !bench.model.irq());
    std::memcpy(&bench.image[first.o], head_o_causal, sizeof head_o);
    std::memcpy(&bench.image[second.o], head_o, sizeof head_o);
    bench.written(third);
    flashd_unit_on_end(&bench.unit, nullptr, nullptr);
}

// A bad descriptor, by polling: its error, and no job after it.
void refusals(Bench &bench)
{
    flashd_unit_descriptor bad = bench.job(1, false);
    bad.group = 0;
    bench.chain({bench.job(0, false), bad, bench.job(2, true)});
    CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_FAILED);
    CHECK(bench.unit.error.code == FLASHD_UNIT_CODE_HEADS);
    CHECK(std::strcmp(flashd_unit_text(bench.unit.error.code), "GROUP or K_HEADS is zero") == 0);
    bench.written(bench.job(0, false));
    // A chain that goes on between descriptors, and one that begins beyond memory.
    flashd_unit_descriptor job = bench.job(0, true);
    flashd_unit_link(&job, CHAIN + 8);
    bench.chain({job});
    CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_FAILED);
    CHECK(bench.unit.error.code == FLASHD_UNIT_CODE_DESCRIPTOR && bench.unit.error.fault == CHAIN + 8);
    bench.written(job);
    CHECK(flashd_unit_submit(&bench.unit, Memory::SIZE) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_FAILED);
    CHECK(bench.unit.error.code == FLASHD_UNIT_CODE_READ_DECERR && bench.unit.error.fault == Memory::SIZE);
    bench.unchanged();
}

// SLVERR, by interrupt; a soft reset; the next job is right.
void errors_of_the_memory(Bench &bench)
{
    flashd_unit_on_end(&bench.unit, Bench::ended, &bench);
    flashd_unit_descriptor job = bench.job(3, false);
    const uint32_t row = 7 * bench.unit.capabilities.k_bytes;
    const struct {
        uint64_t row;
        uint32_t code;
    } errors[] = {
        {Q + row, FLASHD_UNIT_CODE_READ_SLVERR},
        {K + row, FLASHD_UNIT_CODE_READ_SLVERR},
        {V + row, FLASHD_UNIT_CODE_READ_SLVERR},
        {job.o + row, FLASHD_UNIT_CODE_WRITE_SLVERR},
    };
    for (const auto &error : errors) {
        bench.calls = 0;
        bench.model.memory.broken = error.row + Memory::BEAT;
        CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_OK);
        bench.sleep();
        CHECK(bench.calls == 1 && bench.result == FLASHD_UNIT_FAILED && !bench.model.irq());
        // The row that was read, and the first beat that was written.
        CHECK(bench.unit.error.code == error.code && bench.unit.error.fault / Memory::BEAT == error.row / Memory::BEAT);
        bench.model.memory.broken = Memory::SIZE;
        CHECK(flashd_unit_reset(&bench.unit, 0) == FLASHD_UNIT_OK && bench.unit.error.code == 0);
        CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_OK);
        bench.sleep();
        CHECK(bench.calls == 2 && bench.result == FLASHD_UNIT_OK);
        bench.written(job);
    }
    flashd_unit_on_end(&bench.unit, nullptr, nullptr);
}

// A soft reset in the middle of a chain: nothing is written after it, and the next job is right.
void resets(Bench &bench)
{
    for (unsigned cycles = 0; cycles < 3000; cycles += 331) {
        bench.chain({bench.job(4, false), bench.job(4, false)});
        CHECK(flashd_unit_submit(&bench.unit, CHAIN) == FLASHD_UNIT_OK);
        for (unsigned i = 0; i < cycles; i++)
            bench.model.tick();
        CHECK(flashd_unit_reset(&bench.unit, 0) == FLASHD_UNIT_OK && bench.model.memory.quiet());
        bench.image = bench.model.memory.bytes;
        for (unsigned i = 0; i < 500; i++)
            bench.model.tick();
        bench.unchanged();
        flashd_unit_descriptor job = bench.job(4, true);
        CHECK(flashd_unit_start(&bench.unit, &job) == FLASHD_UNIT_OK);
        CHECK(flashd_unit_wait(&bench.unit, 0) == FLASHD_UNIT_OK);
        bench.written(job);
    }
}

} // namespace

int main(int count, char **words)
{
    Verilated::commandArgs(count, words);
    Bench bench;
    probe(bench);
    a_job_by_registers(bench);
    a_chain(bench);
    interrupts(bench);
    refusals(bench);
    errors_of_the_memory(bench);
    resets(bench);
    std::printf("TEST PASSED: %u checks\n", checks);
    return 0;
}
