/* Driver of an attention unit, C99 without an operating system or a heap.
 *
 * Compile it with the unit's register header: -DFLASHD_UNIT_REGS='"NAME_regs.h"'.
 *
 *     struct flashd_unit unit;
 *     struct flashd_unit_descriptor job;
 *     if (flashd_unit_probe(&unit, flashd_unit_mmio((void *)BASE)) != FLASHD_UNIT_OK) ...
 *     flashd_unit_job(&unit, &job, queries, keys, group, key_heads);
 *     job.q = ...; job.k = ...; job.v = ...; job.o = ...;
 *     flashd_unit_start(&unit, &job);
 *     if (flashd_unit_wait(&unit, 0) != FLASHD_UNIT_OK) puts(flashd_unit_text(unit.error.code));
 *
 * The processor is little-endian. Addresses are those of the unit's memory port. The program keeps caches coherent: `fence` of the bus
 * is called before a job starts.
 */
#ifndef FLASHD_UNIT_INCLUDED
#define FLASHD_UNIT_INCLUDED

#ifndef FLASHD_UNIT_REGS
#error "FLASHD_UNIT_REGS is the name of the unit's register header"
#endif
#include FLASHD_UNIT_REGS

#ifdef __cplusplus
extern "C" {
#endif

/* Results of all functions. */
enum flashd_unit_result {
    FLASHD_UNIT_OK = 0,
    FLASHD_UNIT_RUNS,      /* a job or a reset is under way */
    FLASHD_UNIT_FAILED,    /* the job has ended with an error: see `error` */
    FLASHD_UNIT_TIMEOUT,   /* the job is under way after so many reads of STATUS */
    FLASHD_UNIT_NOT_FOUND, /* no unit at these registers */
    FLASHD_UNIT_UNALIGNED  /* the address of a descriptor is no multiple of FLASHD_UNIT_DESCRIPTOR_BYTES */
};

/* Access to the registers. */
struct flashd_unit_bus {
    void *context;
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    /* Makes earlier writes of the processor visible to the unit; may be null. */
    void (*fence)(void *context);
};

/* Capabilities of a unit. Formats are the registers FORMAT_Q to FORMAT_O. */
struct flashd_unit_capabilities {
    uint32_t version, config; /* git revision and digest of the configuration: 32 bits of each */
    uint32_t d, dv;           /* elements of a key and of a value */
    uint32_t queries;         /* queries of a block */
    uint32_t beat_bytes, address_bits, in_flight, max_keys;
    uint32_t q_bytes, k_bytes, v_bytes, o_bytes, state_bytes; /* bytes of a row */
    uint32_t format_q, format_k, format_v, format_o;
    uint8_t fa2, masks, partial, values_needed;
    uint8_t scale; /* 1: a job's scale is the factor of its scores, bits / 65536, and 0 is 1 */
};

/* An error of the unit. */
struct flashd_unit_error {
    uint32_t code;  /* FLASHD_UNIT_CODE_...; 0: none */
    uint64_t fault; /* its address */
};

/* Counters since the last start: a member for each register. */
struct flashd_unit_counters {
#define FLASHD_UNIT_MEMBER(register_name, member) uint32_t member;
    FLASHD_UNIT_COUNTERS(FLASHD_UNIT_MEMBER)
#undef FLASHD_UNIT_MEMBER
};

struct flashd_unit {
    struct flashd_unit_bus bus;
    struct flashd_unit_capabilities capabilities;
    /* The error of the last job. */
    struct flashd_unit_error error;
    /* Called by flashd_unit_interrupt; null without interrupts. */
    void (*ended)(struct flashd_unit *unit, void *context);
    void *context;
};

/* The bus of registers in the processor's address space. */
struct flashd_unit_bus flashd_unit_mmio(volatile void *base);

/* Finds a unit and reads its capabilities. Its interrupt is off. */
enum flashd_unit_result flashd_unit_probe(struct flashd_unit *unit, struct flashd_unit_bus bus);

/* A log-sum-exp: a float in base 2. */
#define FLASHD_UNIT_LSE_BYTES 4u

/* A job over rows without gaps: tensors of [head][token] rows. Addresses, masks and pages are 0. */
void flashd_unit_job(const struct flashd_unit *unit, struct flashd_unit_descriptor *job, uint32_t queries,
                     uint32_t keys, uint16_t group, uint16_t key_heads);

/* Appends the descriptor at this address to a chain. */
void flashd_unit_link(struct flashd_unit_descriptor *job, uint64_t next);

/* Starts a job by registers. */
enum flashd_unit_result flashd_unit_start(struct flashd_unit *unit, const struct flashd_unit_descriptor *job);

/* Starts the chain of descriptors in memory that begins at this address. */
enum flashd_unit_result flashd_unit_submit(struct flashd_unit *unit, uint64_t address);

/* State of the last job or chain: FLASHD_UNIT_RUNS, OK or FAILED. */
enum flashd_unit_result flashd_unit_poll(struct flashd_unit *unit);

/* Reads STATUS until the job or chain has ended, at most `reads` times; 0: without limit. */
enum flashd_unit_result flashd_unit_wait(struct flashd_unit *unit, uint32_t reads);

/* Calls `ended` when a job with FLASHD_UNIT_FLAG_INTERRUPT, the last of a chain or one started by registers has ended, and after errors;
 * one call may stand for several of them, flashd_unit_poll says whether others run. A null `ended` turns the interrupt off. */
void flashd_unit_on_end(struct flashd_unit *unit, void (*ended)(struct flashd_unit *unit, void *context), void *context);

/* The handler of the interrupt: lowers it and calls `ended`. */
void flashd_unit_interrupt(struct flashd_unit *unit);

/* Stops everything; waits like flashd_unit_wait until the memory has answered. */
enum flashd_unit_result flashd_unit_reset(struct flashd_unit *unit, uint32_t reads);

/* Reads all counters. */
void flashd_unit_count(const struct flashd_unit *unit, struct flashd_unit_counters *counters);

/* The text of a code. */
const char *flashd_unit_text(uint32_t code);

#ifdef __cplusplus
}
#endif
#endif
