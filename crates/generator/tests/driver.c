/* The driver against a mock of the registers; `known.h` has their offsets and accesses. */
#include "flashd_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint16_t offset, writable;
    uint32_t reset;
} known[] = {
#include "known.h"
};

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* The registers, the reads of STATUS until the job ends, and how it ends. */
static uint32_t words[256];
static uint32_t reads_left, end_status;
static unsigned starts, queues, resets, fences, calls;

static int place(uint32_t offset)
{
    size_t i;
    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].offset == offset)
            return (int)i;
    return -1;
}

static uint32_t mock_read(void *context, uint32_t offset)
{
    CHECK(context == words && place(offset) >= 0);
    if (offset == FLASHD_UNIT_STATUS && (words[offset / 4] & FLASHD_UNIT_STATUS_BUSY) && reads_left-- == 0)
        words[offset / 4] = end_status;
    return words[offset / 4];
}

static void mock_write(void *context, uint32_t offset, uint32_t value)
{
    uint32_t *status = &words[FLASHD_UNIT_STATUS / 4];
    CHECK(context == words && place(offset) >= 0 && known[place(offset)].writable);
    if (offset == FLASHD_UNIT_STATUS) {
        *status &= ~(value & (FLASHD_UNIT_STATUS_DONE | FLASHD_UNIT_STATUS_ERROR));
        if (!(*status & FLASHD_UNIT_STATUS_DONE))
            *status &= ~FLASHD_UNIT_STATUS_INTERRUPT;
        if (!(*status & FLASHD_UNIT_STATUS_ERROR))
            *status &= ~FLASHD_UNIT_STATUS_CODE;
    } else if (offset == FLASHD_UNIT_CTRL) {
        uint32_t commands = value & ~FLASHD_UNIT_CTRL_IRQ_EN;
        starts += (commands & FLASHD_UNIT_CTRL_START) != 0;
        queues += (commands & FLASHD_UNIT_CTRL_QUEUE) != 0;
        resets += (commands & FLASHD_UNIT_CTRL_SOFT_RESET) != 0;
        if (commands)
            *status |= FLASHD_UNIT_STATUS_BUSY;
        words[offset / 4] = value & FLASHD_UNIT_CTRL_IRQ_EN;
    } else {
        words[offset / 4] = value;
    }
}

static void mock_fence(void *context)
{
    CHECK(context == words);
    fences++;
}

static void ended(struct flashd_unit *unit, void *context)
{
    CHECK(context == &calls && unit != NULL);
    calls++;
}

static struct flashd_unit_bus mock(void)
{
    struct flashd_unit_bus bus;
    bus.context = words;
    bus.read = mock_read;
    bus.write = mock_write;
    bus.fence = mock_fence;
    return bus;
}

static void ends(uint32_t reads, uint32_t status)
{
    reads_left = reads;
    end_status = status;
}

static void a_job_by_registers(struct flashd_unit *unit)
{
    struct flashd_unit_descriptor job;
    const uint32_t *base = &words[FLASHD_UNIT_JOB_BASE / 4];
    flashd_unit_job(unit, &job, 7, 20, 3, 2);
    job.flags = FLASHD_UNIT_FLAG_CAUSAL;
    job.position = (uint32_t)-4;
    job.q = 0x123456789a;
    CHECK(job.q_row == D * 2 && job.k_head == 20 * D * 2);
    ends(5, FLASHD_UNIT_STATUS_DONE | FLASHD_UNIT_STATUS_INTERRUPT);
    CHECK(flashd_unit_start(unit, &job) == FLASHD_UNIT_OK && starts == 1 && fences == 1);
    CHECK(memcmp(base, &job, offsetof(struct flashd_unit_descriptor, pages) + 4) == 0);
    CHECK(words[FLASHD_UNIT_JOB_Q_LO / 4] == 0x3456789a && words[FLASHD_UNIT_JOB_Q_HI / 4] == 0x12);
    CHECK(words[FLASHD_UNIT_JOB_GROUP_K_HEADS / 4] == (2u << 16 | 3));
    CHECK(flashd_unit_start(unit, &job) == FLASHD_UNIT_RUNS && starts == 1);
    CHECK(flashd_unit_wait(unit, 2) == FLASHD_UNIT_TIMEOUT);
    CHECK(flashd_unit_wait(unit, 0) == FLASHD_UNIT_OK);
    CHECK(words[FLASHD_UNIT_STATUS / 4] == 0);
    CHECK(flashd_unit_poll(unit) == FLASHD_UNIT_OK);
}

static void an_error_is_told_until_the_next_start(struct flashd_unit *unit)
{
    struct flashd_unit_descriptor job;
    flashd_unit_job(unit, &job, 1, 1, 0, 1);
    words[FLASHD_UNIT_FAULT_LO / 4] = 0x55;
    words[FLASHD_UNIT_FAULT_HI / 4] = 0x2;
    ends(0, FLASHD_UNIT_STATUS_ERROR | FLASHD_UNIT_STATUS_INTERRUPT | FLASHD_UNIT_CODE_HEADS << FLASHD_UNIT_STATUS_CODE_SHIFT);
    CHECK(flashd_unit_start(unit, &job) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(unit, 0) == FLASHD_UNIT_FAILED && flashd_unit_poll(unit) == FLASHD_UNIT_FAILED);
    CHECK(unit->error.code == FLASHD_UNIT_CODE_HEADS && unit->error.fault == 0x200000055);
    CHECK(strcmp(flashd_unit_text(unit->error.code), "GROUP or K_HEADS is zero") == 0);
    ends(0, FLASHD_UNIT_STATUS_DONE);
    CHECK(flashd_unit_start(unit, &job) == FLASHD_UNIT_OK);
    CHECK(flashd_unit_wait(unit, 0) == FLASHD_UNIT_OK && unit->error.code == 0);
}

static void a_chain_with_interrupts(struct flashd_unit *unit)
{
    struct flashd_unit_descriptor chain[2];
    const uint64_t address = 0x1fffff00;
    flashd_unit_job(unit, &chain[0], 1, 1, 1, 1);
    chain[1] = chain[0];
    chain[1].flags = FLASHD_UNIT_FLAG_INTERRUPT;
    flashd_unit_link(&chain[0], address + sizeof chain[0]);
    CHECK(chain[0].flags == FLASHD_UNIT_FLAG_NEXT && chain[0].next == 0x20000000);
    CHECK(flashd_unit_submit(unit, address + 16) == FLASHD_UNIT_UNALIGNED && queues == 0);
    flashd_unit_on_end(unit, ended, &calls);
    CHECK(words[FLASHD_UNIT_CTRL / 4] == FLASHD_UNIT_CTRL_IRQ_EN);
    ends(1, FLASHD_UNIT_STATUS_DONE | FLASHD_UNIT_STATUS_INTERRUPT);
    CHECK(flashd_unit_submit(unit, address) == FLASHD_UNIT_OK && queues == 1);
    CHECK(words[FLASHD_UNIT_CTRL / 4] == FLASHD_UNIT_CTRL_IRQ_EN);
    CHECK(words[FLASHD_UNIT_QUEUE_LO / 4] == 0x1fffff00 && words[FLASHD_UNIT_QUEUE_HI / 4] == 0);
    flashd_unit_interrupt(unit);
    CHECK(calls == 0);
    flashd_unit_interrupt(unit);
    CHECK(calls == 1 && words[FLASHD_UNIT_STATUS / 4] == 0);
    CHECK(flashd_unit_poll(unit) == FLASHD_UNIT_OK);
    /* While a chain runs a poll leaves DONE to the handler. */
    ends(9, FLASHD_UNIT_STATUS_DONE | FLASHD_UNIT_STATUS_INTERRUPT);
    CHECK(flashd_unit_submit(unit, address) == FLASHD_UNIT_OK);
    words[FLASHD_UNIT_STATUS / 4] |= end_status;
    CHECK(flashd_unit_poll(unit) == FLASHD_UNIT_RUNS && calls == 1);
    CHECK(words[FLASHD_UNIT_STATUS / 4] == (FLASHD_UNIT_STATUS_BUSY | end_status));
    flashd_unit_interrupt(unit);
    CHECK(calls == 2 && words[FLASHD_UNIT_STATUS / 4] == FLASHD_UNIT_STATUS_BUSY);
    CHECK(flashd_unit_wait(unit, 0) == FLASHD_UNIT_OK && words[FLASHD_UNIT_STATUS / 4] == 0);
    flashd_unit_on_end(unit, NULL, NULL);
    CHECK(words[FLASHD_UNIT_CTRL / 4] == 0);
}

int main(void)
{
    struct flashd_unit unit;
    struct flashd_unit_counters counters;
    size_t i;
    CHECK(flashd_unit_probe(&unit, mock()) == FLASHD_UNIT_NOT_FOUND);
    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        words[known[i].offset / 4] = known[i].reset;
    CHECK(flashd_unit_probe(&unit, mock()) == FLASHD_UNIT_OK);
    CHECK(unit.capabilities.d == D && unit.capabilities.queries == QUERIES && unit.capabilities.masks);
    CHECK(unit.capabilities.config == FLASHD_UNIT_CONFIG_RESET && unit.capabilities.in_flight == 64);
    CHECK(unit.capabilities.beat_bytes == 16 && unit.capabilities.address_bits == 40);
    a_job_by_registers(&unit);
    an_error_is_told_until_the_next_start(&unit);
    a_chain_with_interrupts(&unit);
    ends(3, 0);
    CHECK(flashd_unit_reset(&unit, 2) == FLASHD_UNIT_TIMEOUT && resets == 1);
    CHECK(flashd_unit_wait(&unit, 0) == FLASHD_UNIT_OK);
    words[FLASHD_UNIT_CYCLES / 4] = 17;
    words[FLASHD_UNIT_WAIT_QUERIES / 4] = 18;
    flashd_unit_count(&unit, &counters);
    CHECK(counters.cycles == 17 && counters.wait_queries == 18);
    CHECK(strcmp(flashd_unit_text(99), "an unknown error") == 0);
    /* Plain memory as registers. */
    CHECK(flashd_unit_probe(&unit, flashd_unit_mmio(words)) == FLASHD_UNIT_OK && unit.capabilities.d == D);
    puts("passed");
    return 0;
}
