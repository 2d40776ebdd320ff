/* Driver of an attention unit: see flashd_unit.h. */
#include "flashd_unit.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "descriptors are little-endian, like the processor must be"
#endif

static uint32_t get(const struct flashd_unit *unit, uint32_t offset)
{
    return unit->bus.read(unit->bus.context, offset);
}

static void put(const struct flashd_unit *unit, uint32_t offset, uint32_t value)
{
    unit->bus.write(unit->bus.context, offset, value);
}

static uint32_t read_mmio(void *base, uint32_t offset)
{
    return ((volatile uint32_t *)base)[offset / 4];
}

static void write_mmio(void *base, uint32_t offset, uint32_t value)
{
    ((volatile uint32_t *)base)[offset / 4] = value;
}

struct flashd_unit_bus flashd_unit_mmio(volatile void *base)
{
    struct flashd_unit_bus bus;
    bus.context = (void *)(uintptr_t)base;
    bus.read = read_mmio;
    bus.write = write_mmio;
    bus.fence = NULL;
    return bus;
}

/* The field of this mask. */
static uint32_t field(uint32_t word, uint32_t mask)
{
    return (word & mask) / (mask & (~mask + 1));
}

static void read_capabilities(const struct flashd_unit *unit, struct flashd_unit_capabilities *found)
{
    uint32_t features = get(unit, FLASHD_UNIT_FEATURES), lengths = get(unit, FLASHD_UNIT_LENGTHS);
    uint32_t array = get(unit, FLASHD_UNIT_ARRAY);
    uint32_t rows_qk = get(unit, FLASHD_UNIT_ROWS_QK), rows_vo = get(unit, FLASHD_UNIT_ROWS_VO);
    found->version = get(unit, FLASHD_UNIT_VERSION);
    found->config = get(unit, FLASHD_UNIT_CONFIG);
    found->d = field(lengths, FLASHD_UNIT_LENGTHS_D);
    found->dv = field(lengths, FLASHD_UNIT_LENGTHS_DV);
    found->queries = field(array, FLASHD_UNIT_ARRAY_B);
    found->beat_bytes = field(array, FLASHD_UNIT_ARRAY_BEAT_BYTES);
    found->address_bits = field(array, FLASHD_UNIT_ARRAY_ADDRESS_BITS);
    found->in_flight = field(features, FLASHD_UNIT_FEATURES_IN_FLIGHT);
    found->max_keys = get(unit, FLASHD_UNIT_MAX_KEYS);
    found->q_bytes = field(rows_qk, FLASHD_UNIT_ROWS_QK_Q_BYTES);
    found->k_bytes = field(rows_qk, FLASHD_UNIT_ROWS_QK_K_BYTES);
    found->v_bytes = field(rows_vo, FLASHD_UNIT_ROWS_VO_V_BYTES);
    found->o_bytes = field(rows_vo, FLASHD_UNIT_ROWS_VO_O_BYTES);
    found->state_bytes = get(unit, FLASHD_UNIT_STATE_BYTES);
    found->format_q = get(unit, FLASHD_UNIT_FORMAT_Q);
    found->format_k = get(unit, FLASHD_UNIT_FORMAT_K);
    found->format_v = get(unit, FLASHD_UNIT_FORMAT_V);
    found->format_o = get(unit, FLASHD_UNIT_FORMAT_O);
    found->fa2 = (uint8_t)field(features, FLASHD_UNIT_FEATURES_FA2);
    found->masks = (uint8_t)field(features, FLASHD_UNIT_FEATURES_MASKS);
    found->partial = (uint8_t)field(features, FLASHD_UNIT_FEATURES_PARTIAL);
    found->values_needed = (uint8_t)field(features, FLASHD_UNIT_FEATURES_VALUES_NEEDED);
    found->scale = (uint8_t)field(features, FLASHD_UNIT_FEATURES_SCALE);
}

enum flashd_unit_result flashd_unit_probe(struct flashd_unit *unit, struct flashd_unit_bus bus)
{
    unit->bus = bus;
    unit->error.code = 0;
    unit->error.fault = 0;
    unit->ended = NULL;
    unit->context = NULL;
    if (get(unit, FLASHD_UNIT_ID) != FLASHD_UNIT_ID_RESET)
        return FLASHD_UNIT_NOT_FOUND;
    read_capabilities(unit, &unit->capabilities);
    put(unit, FLASHD_UNIT_CTRL, 0);
    return FLASHD_UNIT_OK;
}

void flashd_unit_job(const struct flashd_unit *unit, struct flashd_unit_descriptor *job, uint32_t queries,
                     uint32_t keys, uint16_t group, uint16_t key_heads)
{
    static const struct flashd_unit_descriptor zero;
    const struct flashd_unit_capabilities *has = &unit->capabilities;
    *job = zero;
    job->queries = queries;
    job->keys = keys;
    job->group = group;
    job->k_heads = key_heads;
    job->q_row = has->q_bytes;
    job->q_head = queries * has->q_bytes;
    job->k_row = has->k_bytes;
    job->k_head = keys * has->k_bytes;
    job->v_row = has->v_bytes;
    job->v_head = keys * has->v_bytes;
    job->o_row = has->o_bytes;
    job->o_head = queries * has->o_bytes;
    job->lse_row = FLASHD_UNIT_LSE_BYTES;
    job->lse_head = queries * FLASHD_UNIT_LSE_BYTES;
    job->state_row = has->state_bytes;
    job->state_head = queries * has->state_bytes;
}

void flashd_unit_link(struct flashd_unit_descriptor *job, uint64_t next)
{
    job->flags |= FLASHD_UNIT_FLAG_NEXT;
    job->next = next;
}

/* Reads STATUS, records an error, and clears DONE and ERROR. Clearing DONE takes the interrupt of a job that ends between the read and
 * the clear, so that while a chain runs only the handler does it, and calls `ended` later than that. */
static uint32_t collect(struct flashd_unit *unit, int handler)
{
    uint32_t status = get(unit, FLASHD_UNIT_STATUS);
    uint32_t ends = status & (FLASHD_UNIT_STATUS_DONE | FLASHD_UNIT_STATUS_ERROR);
    if (status & FLASHD_UNIT_STATUS_ERROR) {
        unit->error.code = field(status, FLASHD_UNIT_STATUS_CODE);
        unit->error.fault = get(unit, FLASHD_UNIT_FAULT_LO) | (uint64_t)get(unit, FLASHD_UNIT_FAULT_HI) << 32;
    }
    if (ends && (handler || !(status & FLASHD_UNIT_STATUS_BUSY)))
        put(unit, FLASHD_UNIT_STATUS, ends);
    return status;
}

/* Commands keep the interrupt enable. */
static void command(const struct flashd_unit *unit, uint32_t bits)
{
    put(unit, FLASHD_UNIT_CTRL, bits | (unit->ended ? FLASHD_UNIT_CTRL_IRQ_EN : 0));
}

/* Forgets the last job; the unit must not be busy. */
static enum flashd_unit_result begin(struct flashd_unit *unit)
{
    if (collect(unit, 0) & FLASHD_UNIT_STATUS_BUSY)
        return FLASHD_UNIT_RUNS;
    unit->error.code = 0;
    unit->error.fault = 0;
    if (unit->bus.fence)
        unit->bus.fence(unit->bus.context);
    return FLASHD_UNIT_OK;
}

enum flashd_unit_result flashd_unit_start(struct flashd_unit *unit, const struct flashd_unit_descriptor *job)
{
#define FLASHD_UNIT_PLACE(name) FLASHD_UNIT_##name,
    static const uint16_t words[] = {FLASHD_UNIT_JOB_WORDS(FLASHD_UNIT_PLACE)};
#undef FLASHD_UNIT_PLACE
    enum flashd_unit_result result = begin(unit);
    size_t i;
    if (result != FLASHD_UNIT_OK)
        return result;
    for (i = 0; i < sizeof words / sizeof words[0]; i++) {
        const uint8_t *bytes = (const uint8_t *)job + (words[i] - FLASHD_UNIT_JOB_BASE);
        uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
        put(unit, words[i], low | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
    }
    command(unit, FLASHD_UNIT_CTRL_START);
    return FLASHD_UNIT_OK;
}

enum flashd_unit_result flashd_unit_submit(struct flashd_unit *unit, uint64_t address)
{
    enum flashd_unit_result result;
    if (address % FLASHD_UNIT_DESCRIPTOR_BYTES != 0)
        return FLASHD_UNIT_UNALIGNED;
    result = begin(unit);
    if (result != FLASHD_UNIT_OK)
        return result;
    put(unit, FLASHD_UNIT_QUEUE_LO, (uint32_t)address);
    put(unit, FLASHD_UNIT_QUEUE_HI, (uint32_t)(address >> 32));
    command(unit, FLASHD_UNIT_CTRL_QUEUE);
    return FLASHD_UNIT_OK;
}

enum flashd_unit_result flashd_unit_poll(struct flashd_unit *unit)
{
    if (collect(unit, 0) & FLASHD_UNIT_STATUS_BUSY)
        return FLASHD_UNIT_RUNS;
    return unit->error.code ? FLASHD_UNIT_FAILED : FLASHD_UNIT_OK;
}

enum flashd_unit_result flashd_unit_wait(struct flashd_unit *unit, uint32_t reads)
{
    uint32_t i;
    for (i = 0; reads == 0 || i < reads; i++) {
        enum flashd_unit_result result = flashd_unit_poll(unit);
        if (result != FLASHD_UNIT_RUNS)
            return result;
    }
    return FLASHD_UNIT_TIMEOUT;
}

void flashd_unit_on_end(struct flashd_unit *unit, void (*ended)(struct flashd_unit *unit, void *context), void *context)
{
    unit->ended = ended;
    unit->context = context;
    command(unit, 0);
}

void flashd_unit_interrupt(struct flashd_unit *unit)
{
    if ((collect(unit, 1) & FLASHD_UNIT_STATUS_INTERRUPT) && unit->ended)
        unit->ended(unit, unit->context);
}

enum flashd_unit_result flashd_unit_reset(struct flashd_unit *unit, uint32_t reads)
{
    command(unit, FLASHD_UNIT_CTRL_SOFT_RESET);
    unit->error.code = 0;
    unit->error.fault = 0;
    return flashd_unit_wait(unit, reads);
}

void flashd_unit_count(const struct flashd_unit *unit, struct flashd_unit_counters *counters)
{
#define FLASHD_UNIT_READ(name, member) counters->member = get(unit, FLASHD_UNIT_##name);
    FLASHD_UNIT_COUNTERS(FLASHD_UNIT_READ)
#undef FLASHD_UNIT_READ
}

const char *flashd_unit_text(uint32_t code)
{
    switch (code) {
    case 0:
        return "no error";
#define FLASHD_UNIT_TEXT(name, number, text) \
    case number: \
        return text;
    FLASHD_UNIT_CODES(FLASHD_UNIT_TEXT)
#undef FLASHD_UNIT_TEXT
    default:
        return "an unknown error";
    }
}
