// The bit-exact model of a core for SystemVerilog, by DPI: link the simulation with libflashd_core.
//
// A chandle from flashd_dpi_new is a model between two steps. For each query: flashd_dpi_query; for each of its keys flashd_dpi_key, which
// returns the core's action, and, if the step loads or updates, flashd_dpi_value; then flashd_dpi_result. Functions that return an int
// return 1, or 0 for an error, whose text is flashd_error().
//
// Vectors are packed as on the core's ports: element j in bits [j*W +: W], W being the format's width. The type is as wide as the widest
// vector, so that it and a port can be assigned to each other directly.
package flashd_dpi;

    // 576 elements of 32 bits.
    typedef bit [18431:0] flashd_vector_t;
    // 576 accumulators of 64 bits.
    typedef bit [36863:0] flashd_state_t;

    // Actions of a step.
    localparam int FLASHD_LOAD = 0;    // The output became the value.
    localparam int FLASHD_UPDATE = 1;  // The output was updated with the value.
    localparam int FLASHD_HOLD = 2;    // The output stayed, the value is not read.
    localparam int FLASHD_MASKED = 3;  // The query does not see the key.

    // The model of the core that JSON describes, as in the "configuration" of a manifest; null if it is not legal.
    import "DPI-C" function chandle flashd_dpi_new(input string json);
    import "DPI-C" function void flashd_dpi_free(input chandle model);

    // Why the last function that failed did so.
    import "DPI-C" function string flashd_error();

    // Loads a query; v_exponent is the port's value, 0 for cores without it.
    import "DPI-C" function int flashd_dpi_query(
        input chandle model, input flashd_vector_t q, input int v_exponent);

    // The query meets a key, which it does not see if masked: returns score s, argument x, lanes' factor w and FA2's sum, raw, as the core's
    // own signals carry them; the action, one of the above; whether the factor scales the old output.
    import "DPI-C" function int flashd_dpi_key(
        input chandle model, input flashd_vector_t k, input int masked,
        output longint score, output longint x, output longint w, output longint sum,
        output int action, output int upper);

    // The same with a bias, the bf16 number on k_bias, which is added to the score.
    import "DPI-C" function int flashd_dpi_biased_key(
        input chandle model, input flashd_vector_t k, input int bias, input int masked,
        output longint score, output longint x, output longint w, output longint sum,
        output int action, output int upper);

    // The value of the key before.
    import "DPI-C" function int flashd_dpi_value(input chandle model, input flashd_vector_t v);

    // The result after the last key, and its flags: bit 0 invalid, bit 1 overflow, bit 2 empty, bit 3 saturated.
    import "DPI-C" function int flashd_dpi_result(
        input chandle model, output flashd_vector_t o, output int flags);

    // The state after the last step: FLASH-D's log-sum-exp and remaining budget, or FA2's maximum and sum; and the accumulators.
    import "DPI-C" function int flashd_dpi_state(
        input chandle model, output longint first, output longint second, output flashd_state_t o);

endpackage
