/* A core from C: attention of a head in float32, the same in encodings step by step, and errors of wrong arguments.
 *
 *     cc -std=c11 -Wall -Wextra -I crates/capi/include attention.c -L target/release -lflashd_core -lm -o attention
 */
#include "flashd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define D 16
#define QUERIES 5
#define KEYS 40

static int failures = 0;

static void check(bool right, const char *what) {
    if (!right) {
        fprintf(stderr, "FAILED: %s: %s\n", what, flashd_error());
        failures++;
    }
}

/* Numbers from -1 to 1, the same on every machine. */
static float next(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void exact(const float *q, const float *k, const float *v, double *o) {
    double weights[KEYS], sum = 0, largest = -INFINITY;
    for (int key = 0; key < KEYS; key++) {
        weights[key] = 0;
        for (int i = 0; i < D; i++) weights[key] += (double)q[i] * k[key * D + i] / sqrt(D);
        if (weights[key] > largest) largest = weights[key];
    }
    for (int key = 0; key < KEYS; key++) sum += weights[key] = exp(weights[key] - largest);
    for (int i = 0; i < D; i++) {
        o[i] = 0;
        for (int key = 0; key < KEYS; key++) o[i] += weights[key] / sum * v[key * D + i];
    }
}

/* bf16 is the upper half of a float32; cut, not rounded, which is as good for a test. */
static void cut(const float *from, uint32_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        memcpy(&to[i], &from[i], 4);
        to[i] >>= 16;
    }
}

static void run(const char *json) {
    FlashdCore *core = flashd_core_new(json);
    check(core != NULL, json);
    if (!core) return;
    FlashdInfo info;
    check(flashd_core_info(core, &info), "info");
    check(info.d == D && info.dv == D && info.query_words == D && info.key_words == D && info.q_width == 16, "the core is what was asked for");

    static float q[QUERIES * D], k[KEYS * D], v[KEYS * D], o[QUERIES * D];
    /* Large scores, so that steps are held. */
    for (int i = 0; i < QUERIES * D; i++) q[i] = 12 * next();
    for (int i = 0; i < KEYS * D; i++) k[i] = next(), v[i] = next();
    FlashdHeads heads = {.heads = 1, .key_heads = 1, .queries = QUERIES, .keys = KEYS, .q = q, .k = k, .v = v};
    FlashdCounts counts;
    check(flashd_attention(core, &heads, o, &counts), "attention");
    check(counts.queries == QUERIES && counts.keys == QUERIES * KEYS, "counts");
    check(counts.cycles == QUERIES * KEYS + info.latency, "one key a cycle, and the latency");
    double worst = 0;
    for (int query = 0; query < QUERIES; query++) {
        double right[D];
        exact(q + query * D, k, v, right);
        for (int i = 0; i < D; i++) worst = fmax(worst, fabs(o[query * D + i] - right[i]));
    }
    check(worst < 0.02, "errors against exact attention");

    /* The same in encodings: all at once, and one step at a time. */
    static uint32_t bits_q[QUERIES * D], bits_k[KEYS * D], bits_v[KEYS * D], bits_o[QUERIES * D];
    cut(q, bits_q, QUERIES * D), cut(k, bits_k, KEYS * D), cut(v, bits_v, KEYS * D);
    FlashdRawHead raw = {
        .queries = QUERIES, .keys = KEYS, .q = bits_q, .k = bits_k, .v = bits_v, .v_exponent = 127};
    check(flashd_attention_raw(core, &raw, bits_o, &counts), "attention of encodings");
    FlashdSteps *steps = flashd_steps_new(core);
    uint64_t held = 0;
    for (int query = 0; query < QUERIES; query++) {
        check(flashd_steps_query(steps, bits_q + query * D, 127), "query");
        for (int key = 0; key < KEYS; key++) {
            FlashdStep step;
            check(flashd_steps_key(steps, bits_k + key * D, false, &step), "key");
            if (step.value_is_due) check(flashd_steps_value(steps, bits_v + key * D), "value");
            held += step.held;
        }
        uint32_t last[D];
        FlashdResult flags;
        check(flashd_steps_result(steps, last, &flags), "result");
        check(!memcmp(last, bits_o + query * D, sizeof last), "steps and the whole head have the same bits");
        check(!flags.invalid && !flags.overflow && !flags.empty, "flags");
    }
    check(held == counts.held, "held steps");

    /* What is wrong says so, and nothing else happens. */
    heads.q = NULL;
    check(!flashd_attention(core, &heads, o, NULL) && strcmp(flashd_error(), "q is NULL") == 0, "a tensor that is NULL");
    q[3] = NAN, heads.q = q;
    check(!flashd_attention(core, &heads, o, NULL) && strstr(flashd_error(), "row 0, column 3 is NaN"), "a NaN");
    check(!flashd_steps_value(steps, bits_v) && strlen(flashd_error()) > 0, "a value out of turn");
    check(!flashd_core_info(NULL, &info) && !flashd_steps_new(NULL), "no core");
    flashd_core_free(core);
    /* Steps outlive their core. */
    check(flashd_steps_query(steps, bits_q, 127), "steps without the core");
    flashd_steps_free(steps);
    printf("%s: largest error %.4f, %llu of %d steps held\n", json, worst, (unsigned long long)held, QUERIES * KEYS);
}

int main(void) {
    run("{\"design\": \"flash-d\", \"d\": 16, \"format\": \"bf16\"}");
    run("{\"design\": \"fa2\", \"d\": 16, \"format\": \"bf16\"}");
    check(flashd_core_new("{\"design\": \"flash-d\", \"d\": 1}") == NULL && strcmp(flashd_error(), "d: 1 is outside 2 to 576") == 0,
          "an illegal core");
    check(flashd_core_new("{") == NULL && flashd_core_new(NULL) == NULL, "no JSON");
    flashd_core_free(NULL);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
