/* Firmware of the SoC: writes q, k and v to main memory, lets the attention unit run, sleeps until its interrupt, and compares o with
 * the results of `flashd simulate`. */
#include "flashd_unit.h"
#include "head.h"
#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>
#include <irq.h>
#include <system.h>

/* Main memory. */
#define MEMORY(offset) ((uint8_t *)(MAIN_RAM_BASE + (offset)))
#define Q MEMORY(0x0000)
#define K MEMORY(0x1000)
#define V MEMORY(0x2000)
#define O MEMORY(0x3000)
#define O_CAUSAL MEMORY(0x4000)
#define CHAIN ((struct flashd_unit_descriptor *)MEMORY(0x5000))

static struct flashd_unit unit;
static volatile unsigned ends;

/* The compiler may call these. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

static void print(const char *text)
{
    for (; *text; text++) {
        while (uart_txfull_read())
            continue;
        uart_rxtx_write(*text);
    }
}

static void print_number(uint32_t number)
{
    char digits[11], *first = &digits[sizeof digits - 1];
    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    print(first);
}

static void check(int right, const char *what)
{
    if (right)
        return;
    print("FAILED: ");
    print(what);
    print(", ");
    print(flashd_unit_text(unit.error.code));
    print("\n");
    for (;;)
        continue;
}

/* The processor's interrupts. */
void isr(void)
{
    if (irq_pending() & irq_getmask() & 1u << ATTENTION_INTERRUPT)
        flashd_unit_interrupt(&unit);
}

static void ended(struct flashd_unit *unit, void *context)
{
    (void)unit;
    (void)context;
    ends++;
}

/* Sleeps until the interrupt, and returns the result. The processor wakes up although it takes no interrupt, so that none is lost
 * between the test and the sleep. */
static enum flashd_unit_result sleep(void)
{
    uint32_t cycles = (uint32_t)csrr(mcycle), instructions = (uint32_t)csrr(minstret);
    while (ends == 0) {
        __asm__ volatile("wfi");
        irq_setie(1);
        /* VexRiscv takes the interrupt some instructions after it is allowed. */
        __asm__ volatile("nop\nnop\nnop\nnop");
        irq_setie(0);
    }
    cycles = (uint32_t)csrr(mcycle) - cycles;
    instructions = (uint32_t)csrr(minstret) - instructions;
    check(ends == 1 && instructions < 1000 && cycles > 10 * instructions, "the processor slept");
    ends = 0;
    print("slept for ");
    print_number(cycles);
    print(" cycles\n");
    return flashd_unit_poll(&unit);
}

/* The unit has written memory: the cache may have older bytes. */
static int same(const uint8_t *results, const uint8_t *expected)
{
    flush_cpu_dcache();
    for (size_t i = 0; i < sizeof head_o; i++)
        if (results[i] != expected[i])
            return 0;
    return 1;
}

static struct flashd_unit_descriptor job(int causal)
{
    struct flashd_unit_descriptor job;
    flashd_unit_job(&unit, &job, HEAD_TOKENS, HEAD_TOKENS, 1, 1);
    job.flags = causal ? FLASHD_UNIT_FLAG_CAUSAL : 0;
    job.q = (uintptr_t)Q;
    job.k = (uintptr_t)K;
    job.v = (uintptr_t)V;
    job.o = (uintptr_t)(causal ? O_CAUSAL : O);
    return job;
}

int main(void)
{
    struct flashd_unit_descriptor one;
    struct flashd_unit_counters counters;
    check(flashd_unit_probe(&unit, flashd_unit_mmio((void *)ATTENTION_BASE)) == FLASHD_UNIT_OK, "the probe");
    check(unit.capabilities.config == FLASHD_UNIT_CONFIG_RESET, "the configuration");
    memcpy(Q, head_q, sizeof head_q);
    memcpy(K, head_k, sizeof head_k);
    memcpy(V, head_v, sizeof head_v);
    irq_setmask(1u << ATTENTION_INTERRUPT);
    flashd_unit_on_end(&unit, ended, NULL);

    print("a job by registers: ");
    one = job(1);
    check(!same(O_CAUSAL, head_o_causal), "memory before the job");
    check(flashd_unit_start(&unit, &one) == FLASHD_UNIT_OK, "the start");
    check(sleep() == FLASHD_UNIT_OK && same(O_CAUSAL, head_o_causal), "the results");
    flashd_unit_count(&unit, &counters);
    print_number(counters.cycles);
    print(" cycles busy, ");
    print_number(counters.bytes_keys);
    print(" bytes of keys\n");

    print("a job that is refused: ");
    one.group = 0;
    check(flashd_unit_start(&unit, &one) == FLASHD_UNIT_OK && flashd_unit_wait(&unit, 0) == FLASHD_UNIT_FAILED, "the error");
    check(unit.error.code == FLASHD_UNIT_CODE_HEADS, "the code");
    print(flashd_unit_text(unit.error.code));
    print("\n");
    check(flashd_unit_reset(&unit, 0) == FLASHD_UNIT_OK, "the reset");

    print("a chain: ");
    memset(O_CAUSAL, 0, sizeof head_o);
    CHAIN[0] = job(0);
    CHAIN[1] = job(1);
    flashd_unit_link(&CHAIN[0], (uintptr_t)&CHAIN[1]);
    ends = 0;
    check(flashd_unit_submit(&unit, (uintptr_t)CHAIN) == FLASHD_UNIT_OK, "the start");
    check(sleep() == FLASHD_UNIT_OK && same(O, head_o) && same(O_CAUSAL, head_o_causal), "the results");

    print("PASS\n");
    for (;;)
        continue;
}
