/* The bit-exact core of flashd for C and C++.
 *
 * Functions that can fail return false or NULL; flashd_error() then has the reason, for the calling thread. No panic crosses the C boundary.
 * Handles may be used from one thread at a time; FlashdCore from several. Written by cbindgen from crates/capi; not to be edited. */

#ifndef FLASHD_H
#define FLASHD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A core: a validated configuration and its model. Several threads may use one at the same time.
typedef struct FlashdCore FlashdCore;

// A core's model between two steps.
typedef struct FlashdSteps FlashdSteps;

// Shapes, widths, latencies and options of a core.
typedef struct {
  // Elements of a query and of a key.
  uint32_t d;
  // Elements of a value and of a result.
  uint32_t dv;
  // Words of a query in encodings: d, and the words of its scales, where queries have any.
  uint32_t query_words;
  // Words of a key in encodings: d, and the words of its scales, where keys have any.
  uint32_t key_words;
  // Words of a value in encodings.
  uint32_t value_words;
  // Bits of an element of q.
  uint32_t q_width;
  // Bits of an element of k.
  uint32_t k_width;
  // Bits of an element of v.
  uint32_t v_width;
  // Bits of an element of o.
  uint32_t o_width;
  // Bits of an accumulator in a step's state.
  uint32_t accumulator_bits;
  // Scalars of the state that have a meaning, 0 to 2.
  uint32_t state_scalars;
  // Cycles from a query's last key to its result.
  uint32_t latency;
  // Cycles from a key to its v_step.
  uint32_t v_step_latency;
  // Cycles from v_ren to its value.
  uint32_t value_latency;
  // Whether keys can be masked.
  bool masks;
  // Whether a bias is added to scores.
  bool bias;
  // Whether queries can start from partial results.
  bool partial;
  // Whether fixed-point lanes take an exponent with the query.
  bool has_v_exponent;
} FlashdInfo;

// Heads in float32.
typedef struct {
  // Heads of q.
  uintptr_t heads;
  // Heads of k and v; each serves heads / key_heads heads of q in a row.
  uintptr_t key_heads;
  // Queries of a head.
  uintptr_t queries;
  // Keys of a head.
  uintptr_t keys;
  // [heads, queries, d].
  const float *q;
  // [key_heads, keys, d].
  const float *k;
  // [key_heads, keys, dv].
  const float *v;
  // Queries see only keys up to their own position, the last query being at the last key.
  bool causal;
  // Factor between q . k and the score; 0 for 1 / sqrt(d).
  double scale;
  // [heads, queries, keys], true for keys that a query sees; NULL for all. Takes a core with masks.
  const bool *mask;
  // [heads, queries, keys], biases of scores, in natural units; NULL for none. Takes a core with a bias; minus infinity hides
  // the key, in a core with masks. Rows of k and v that no query sees may be anything, here and in the mask.
  const float *bias;
} FlashdHeads;

// Counts of a run, and the cycles that the core takes for it.
typedef struct {
  // From the first key to the last result.
  uint64_t cycles;
  // Queries that met a key.
  uint64_t queries;
  // Keys, over all queries.
  uint64_t keys;
  // Steps that left the output as it was.
  uint64_t held;
  // Steps whose key the query does not see.
  uint64_t masked;
  // Values that were read.
  uint64_t values_read;
  // Queries with an operand that is Inf or NaN.
  uint64_t invalid;
  // Queries beyond the range of fixed-point lanes: their results are wrong.
  uint64_t overflowed;
  // Queries that saw no key: their results are zeros.
  uint64_t empty;
  // Queries with a score beyond the core's range.
  uint64_t saturated;
  // Queries of more keys than the core is built for: their sums lose more than the formats.
  uint64_t too_long;
} FlashdCounts;

// One head in encodings, each in the low bits of its word.
typedef struct {
  // Rows of q.
  uintptr_t queries;
  // Rows of k and v.
  uintptr_t keys;
  // [queries, query_words]: a row is d elements, followed by the words of its scales in a core whose queries have scales.
  const uint32_t *q;
  // [keys, key_words].
  const uint32_t *k;
  // [keys, value_words].
  const uint32_t *v;
  // Number of keys that each query meets, from the first; NULL for all.
  const uintptr_t *lengths;
  // [queries, keys], true for keys that a query sees; NULL for all. Takes a core with masks.
  const bool *mask;
  // [queries, keys], biases of scores, in bf16; NULL for none. Takes a core with a bias.
  const uint32_t *bias;
  // The exponent to which fixed-point lanes scale values; -1 for the largest value's.
  int32_t v_exponent;
} FlashdRawHead;

// One step, raw: numbers as the core's internal signals carry them.
typedef struct {
  // The score, in base 2 with the core's score fraction bits; an encoding where the paper is followed to the letter.
  int64_t score;
  // The argument of the weight function; 0 for a first key.
  int64_t x;
  // The lanes' factor; 0 where the step holds.
  uint64_t w;
  // FA2's sum after the step; 0 of cores that have none.
  uint64_t sum;
  // A FlashdAction.
  uint8_t action;
  // The factor scales the old output, or the reference moved.
  bool upper;
  // The step is held.
  bool held;
  // The value of this key has to follow.
  bool value_is_due;
} FlashdStep;

// Flags of a query's result.
typedef struct {
  // An operand that was read is Inf or NaN.
  bool invalid;
  // A value is beyond the range of fixed-point lanes.
  bool overflow;
  // The query saw no key.
  bool empty;
  // A score is beyond the core's range.
  bool saturated;
} FlashdResult;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The error of this thread's last failed call; empty if none failed. Valid until the next call that fails.
const char *flashd_error(void);

// The core of a configuration in JSON, as in configs/ of the repository: {"design": "flash-d", "d": 64, "format": "bf16"} and any option.
// NULL if it is not legal.
//
// # Safety
// `json` is null or a string that ends with a zero.
FlashdCore *flashd_core_new(const char *json);

// Frees a core. NULL is nothing to free.
//
// # Safety
// `core` comes from flashd_core_new and is not used again.
void flashd_core_free(FlashdCore *core);

// The name of the core's module; empty for NULL. Valid as long as the core.
//
// # Safety
// `core` is null or comes from flashd_core_new.
const char *flashd_core_name(const FlashdCore *core);

// The whole configuration as JSON; empty for NULL. Valid as long as the core.
//
// # Safety
// `core` is null or comes from flashd_core_new.
const char *flashd_core_json(const FlashdCore *core);

// Shapes, widths, latencies and options of a core.
//
// # Safety
// `core` is null or comes from flashd_core_new; `info` is null or can be written.
bool flashd_core_info(const FlashdCore *core, FlashdInfo *info);

// Attention of heads in float32 into o, [heads, queries, dv]: scaled and rounded to the core's format as `flashd simulate` does, bit for bit.
// counts may be NULL. All processors are used.
//
// # Safety
// Pointers are null or valid for the documented shapes, o for heads * queries * dv floats.
bool flashd_attention(const FlashdCore *core,
                      const FlashdHeads *heads,
                      float *o,
                      FlashdCounts *counts);

// Attention of one head in encodings into o, [queries, dv]; nothing is scaled. counts may be NULL.
//
// # Safety
// Pointers are null or valid for the documented shapes, o for queries * dv words.
bool flashd_attention_raw(const FlashdCore *core, const FlashdRawHead *head, uint32_t *o, FlashdCounts *counts);

// Numbers as encodings of an operand, "q", "k", "v" or "o": rows of d (v and o: dv) numbers become rows of query_words (k: key_words,
// v: value_words, o: dv) words. Each number is rounded to nearest, ties to even, and saturates; where rows have scales, a row is
// followed by the words of its scale. Nothing else is scaled.
//
// # Safety
// Pointers are null or valid for the documented shapes.
bool flashd_encode(const FlashdCore *core,
                   const char *operand,
                   uintptr_t rows,
                   const float *numbers,
                   uint32_t *encodings);

// The numbers of an operand's encodings, elements times the scale of their row: the inverse of flashd_encode.
//
// # Safety
// Pointers are null or valid for the documented shapes.
bool flashd_decode(const FlashdCore *core,
                   const char *operand,
                   uintptr_t rows,
                   const uint32_t *encodings,
                   double *numbers);

// The core before its first query. NULL for a NULL core.
//
// # Safety
// `core` is null or comes from flashd_core_new. It may be freed before the steps are.
FlashdSteps *flashd_steps_new(const FlashdCore *core);

// Frees it. NULL is nothing to free.
//
// # Safety
// `steps` comes from flashd_steps_new and is not used again.
void flashd_steps_free(FlashdSteps *steps);

// Loads a query of query_words encodings and drops the query under way. Fixed-point lanes scale values to v_exponent; other lanes ignore it.
//
// # Safety
// `steps` comes from flashd_steps_new; `q` is null or points to query_words words.
bool flashd_steps_query(FlashdSteps *steps,
                        const uint32_t *q,
                        uint32_t v_exponent);

// Starts the query from a partial result, before its first key: two scalars, as far as the core has them, and dv accumulators. That of
// flashd_no_key_state changes nothing.
//
// # Safety
// `steps` comes from flashd_steps_new; `scalars` is null or points to 2 words, `o` to dv.
bool flashd_steps_restore(FlashdSteps *steps,
                          const uint64_t *scalars,
                          const uint64_t *o);

// The query meets a key of key_words encodings; it does not see a masked one. The core's action goes into step before the value is known:
// if value_is_due, flashd_steps_value has to follow.
//
// # Safety
// `steps` comes from flashd_steps_new; `k` is null or points to key_words words, `step` is null or can be written.
bool flashd_steps_key(FlashdSteps *steps,
                      const uint32_t *k,
                      bool masked,
                      FlashdStep *step);

// flashd_steps_key with a bias, a bf16 number that is added to the score. Takes a core with a bias.
//
// # Safety
// As flashd_steps_key.
bool flashd_steps_biased_key(FlashdSteps *steps, const uint32_t *k, uint32_t bias, bool masked, FlashdStep *step);

// The value of the key before, value_words encodings.
//
// # Safety
// `steps` comes from flashd_steps_new; `v` is null or points to value_words words.
bool flashd_steps_value(FlashdSteps *steps, const uint32_t *v);

// The empty state, of a query that has seen no key: two scalars and dv accumulators. It is neutral in flashd_merge_states and
// flashd_steps_restore. FLASH-D: the least log-sum-exp; FA2: the least maximum and a sum of 0. Either may be NULL.
//
// # Safety
// `core` is null or comes from flashd_core_new; `scalars` is null or points to 2 words, `o` to dv.
bool flashd_no_key_state(const FlashdCore *core,
                         uint64_t *scalars,
                         uint64_t *o);

// Merges two states, as the tree of split keys does, into scalars and o, which may alias the states of a or b.
//
// # Safety
// `core` is null or comes from flashd_core_new; scalars are null or point to 2 words, accumulators to dv.
bool flashd_merge_states(const FlashdCore *core,
                         const uint64_t *scalars_a,
                         const uint64_t *o_a,
                         const uint64_t *scalars_b,
                         const uint64_t *o_b,
                         uint64_t *scalars,
                         uint64_t *o);

// The log-sum-exp of a state's two scalars in base 2, into result: ln 2 times it is the natural one. Minus infinity for no key.
//
// # Safety
// `core` is null or comes from flashd_core_new; `scalars` is null or points to 2 words, `result` is null or can be written.
bool flashd_log_sum_exp(const FlashdCore *core,
                        const uint64_t *scalars,
                        double *result);

// The state after the last step: two scalars and dv accumulators as the core holds them. The scalars are, all in base 2, log-sum-exp and
// remaining budget of the hold rule in FLASH-D, maximum and sum in FA2, and zeros in a core without partial results. Before the first
// visible key the state is flashd_no_key_state. Either may be NULL.
//
// # Safety
// `steps` comes from flashd_steps_new; `scalars` is null or points to 2 words, `o` to dv.
bool flashd_steps_state(const FlashdSteps *steps,
                        uint64_t *scalars,
                        uint64_t *o);

// The result as if the last key were the query's last: dv encodings, and its flags, which may be NULL.
//
// # Safety
// `steps` comes from flashd_steps_new; `o` is null or points to dv words, `flags` is null or can be written.
bool flashd_steps_result(const FlashdSteps *steps, uint32_t *o, FlashdResult *flags);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FLASHD_H */
