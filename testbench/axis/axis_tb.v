// Self-checking testbench of an AXI4-Stream wrapper, Verilog-2005, with stalls on every stream.
//
//   packets.py flash_d_bf16_d16_x8_axis.json core.vec --out tb
//   iverilog -g2005 -Itb -s axis_tb -o axis_tb.vvp tb/axis_tb.v tb/axis_pace.v flash_d_bf16_d16_x8_axis.v
//   cd tb && vvp -n ../axis_tb.vvp +seed=1 +beats=20000
//
// or with `verilator --binary --timing`. The blocks are repeated until +beats=N beats have passed; +packets=DIR names
// the folder of the .hex files; +seed=N; +calm takes all pauses away; +vcd=FILE writes a wave of the first blocks.
//
// Compared: every beat of every result, every request, the registers after each run of blocks; nothing moves outside
// runs. A stream out of the wrapper keeps an offered beat until it is taken. X and Z are wrong. The last line is
// `TEST PASSED: N checks` or `TEST FAILED: ...` with the first difference.

`default_nettype none
`include "bench.vh"

module axis_tb;
    localparam Q_BEAT = `AXIS_Q_BEAT;
    localparam K_BEAT = `AXIS_K_BEAT;
    localparam V_BEAT = `AXIS_V_BEAT;
    localparam O_BEAT = `AXIS_O_BEAT;
`ifdef AXIS_HAS_STATES
    localparam P_BEAT = `AXIS_P_BEAT;
`endif
    localparam RUN_WORDS = 14;

    reg aclk;
    reg aresetn;
    reg start;
    reg calm;
    reg [31:0] seed;

    reg s_axis_q_tvalid, s_axis_k_tvalid, s_axis_v_tvalid;
    wire s_axis_q_tready, s_axis_k_tready, s_axis_v_tready;
    reg [Q_BEAT+3:0] q_line;
    reg [K_BEAT+3:0] k_line;
    reg [V_BEAT+3:0] v_line;
    wire m_axis_o_tvalid, m_axis_o_tready, m_axis_o_tlast;
    wire [O_BEAT-1:0] m_axis_o_tdata;
    wire [2:0] m_axis_o_tuser;
    wire m_axis_vreq_tvalid, m_axis_vreq_tready;
    wire [31:0] m_axis_vreq_tdata;
    reg [`AXIS_ADDRESS_BITS-1:0] s_axil_awaddr, s_axil_araddr;
    reg s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready;
    reg [31:0] s_axil_wdata;
    reg [3:0] s_axil_wstrb;
    wire s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
    wire [1:0] s_axil_bresp, s_axil_rresp;
    wire [31:0] s_axil_rdata;

`ifdef AXIS_HAS_STATES
    reg s_axis_s_tvalid;
    wire s_axis_s_tready;
    reg [P_BEAT+3:0] p_line;
`endif

    `AXIS_TOP dut (
`ifdef AXIS_HAS_MASKS
        .s_axis_k_tuser(k_line[K_BEAT+1]),
`endif
`ifdef AXIS_HAS_STATES
        .s_axis_s_tvalid(s_axis_s_tvalid), .s_axis_s_tready(s_axis_s_tready),
        .s_axis_s_tdata(p_line[P_BEAT-1:0]), .s_axis_s_tlast(p_line[P_BEAT]), .s_axis_s_tuser(p_line[P_BEAT+1]),
`endif
`ifdef AXIS_HAS_REQUESTED
        .m_axis_vreq_tvalid(m_axis_vreq_tvalid), .m_axis_vreq_tready(m_axis_vreq_tready),
        .m_axis_vreq_tdata(m_axis_vreq_tdata),
`else
        .s_axis_v_tlast(v_line[V_BEAT]),
`endif
        .aclk(aclk), .aresetn(aresetn),
        .s_axis_q_tvalid(s_axis_q_tvalid), .s_axis_q_tready(s_axis_q_tready),
        .s_axis_q_tdata(q_line[Q_BEAT-1:0]), .s_axis_q_tlast(q_line[Q_BEAT]),
        .s_axis_k_tvalid(s_axis_k_tvalid), .s_axis_k_tready(s_axis_k_tready),
        .s_axis_k_tdata(k_line[K_BEAT-1:0]), .s_axis_k_tlast(k_line[K_BEAT]),
        .s_axis_v_tvalid(s_axis_v_tvalid), .s_axis_v_tready(s_axis_v_tready), .s_axis_v_tdata(v_line[V_BEAT-1:0]),
        .m_axis_o_tvalid(m_axis_o_tvalid), .m_axis_o_tready(m_axis_o_tready),
        .m_axis_o_tdata(m_axis_o_tdata), .m_axis_o_tlast(m_axis_o_tlast), .m_axis_o_tuser(m_axis_o_tuser),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready)
    );
`ifndef AXIS_HAS_REQUESTED
    assign m_axis_vreq_tvalid = 1'b0;
    assign m_axis_vreq_tdata = 32'd0;
`endif

    reg [Q_BEAT+3:0] q_mem [0:`AXIS_N_Q-1];
    reg [K_BEAT+3:0] k_mem [0:`AXIS_N_K-1];
    reg [V_BEAT+3:0] v_mem [0:`AXIS_N_V-1];
    reg [O_BEAT+3:0] o_mem [0:`AXIS_N_O-1];
    // Compared bits of a result beat: a result without a key has no state.
    reg [O_BEAT+3:0] w_mem [0:`AXIS_N_O-1];
    // The rows of the requested values, and their places in their blocks.
    reg [63:0] r_mem [0:`AXIS_N_R];
    reg [32*RUN_WORDS-1:0] s_mem [0:`AXIS_N_S-1];

    reg failed;
    integer checks, beats, wanted, passes, quiet;

    initial aclk = 0;
    always #5 aclk = ~aclk;

    // Sources. Data between beats are noise, so that nothing may rely on them.
    reg [31:0] noise;
    wire [31:0] n1 = noise ^ (noise << 13);
    wire [31:0] n2 = n1 ^ (n1 >> 17);
    wire q_acts, k_acts, v_acts, o_acts, r_acts;
    wire [Q_BEAT+3:0] q_noise = {((Q_BEAT + 35) / 32){noise}};
    wire [K_BEAT+3:0] k_noise = {((K_BEAT + 35) / 32){noise}};
    wire [V_BEAT+3:0] v_noise = {((V_BEAT + 35) / 32){noise}};
    integer q_next, k_next, v_next, o_next, r_next;
    wire q_taken = s_axis_q_tvalid & s_axis_q_tready;
    wire k_taken = s_axis_k_tvalid & s_axis_k_tready;
    wire v_taken = s_axis_v_tvalid & s_axis_v_tready;
    wire o_taken = m_axis_o_tvalid & m_axis_o_tready;
    wire r_taken = m_axis_vreq_tvalid & m_axis_vreq_tready;
    axis_pace q_pace (.clk(aclk), .seed(seed ^ 32'h1357_9bdf), .start(start), .calm(calm),
                      .peer(~s_axis_q_tvalid), .acts(q_acts));
    axis_pace k_pace (.clk(aclk), .seed(seed ^ 32'h2468_ace0), .start(start), .calm(calm),
                      .peer(~s_axis_k_tvalid), .acts(k_acts));
    axis_pace v_pace (.clk(aclk), .seed(seed ^ 32'h0f1e_2d3c), .start(start), .calm(calm),
                      .peer(~s_axis_v_tvalid), .acts(v_acts));
    // A sink that is ready after it has seen a beat that it has not taken.
    axis_pace o_pace (.clk(aclk), .seed(seed ^ 32'h7654_3210), .start(start), .calm(calm),
                      .peer(m_axis_o_tvalid & ~m_axis_o_tready), .acts(o_acts));
    axis_pace r_pace (.clk(aclk), .seed(seed ^ 32'h89ab_cdef), .start(start), .calm(calm),
                      .peer(m_axis_vreq_tvalid & ~m_axis_vreq_tready), .acts(r_acts));
    assign m_axis_o_tready = o_acts;

    always @(posedge aclk) begin
        if (!aresetn) begin
            noise <= seed | 1;
            s_axis_q_tvalid <= 0;
            s_axis_k_tvalid <= 0;
            q_next <= 0;
            k_next <= 0;
        end else begin
            noise <= n2 ^ (n2 << 5);
            if (!s_axis_q_tvalid || s_axis_q_tready) begin
                s_axis_q_tvalid <= q_acts;
                q_line <= q_acts ? q_mem[q_next] : q_noise;
                if (q_acts) q_next <= q_next == `AXIS_N_Q - 1 ? 0 : q_next + 1;
            end
            if (!s_axis_k_tvalid || s_axis_k_tready) begin
                s_axis_k_tvalid <= k_acts;
                k_line <= k_acts ? k_mem[k_next] : k_noise;
                if (k_acts) k_next <= k_next == `AXIS_N_K - 1 ? 0 : k_next + 1;
            end
        end
    end

`ifdef AXIS_HAS_STATES
    // States that queries begin from: a packet for each block of a run that has any.
    reg [P_BEAT+3:0] p_mem [0:(`AXIS_N_P == 0 ? 0 : `AXIS_N_P - 1)];
    wire [P_BEAT+3:0] p_noise = {((P_BEAT + 35) / 32){noise}};
    wire p_acts;
    integer p_next;
    axis_pace p_pace (.clk(aclk), .seed(seed ^ 32'h5bd1_e995), .start(start), .calm(calm),
                      .peer(~s_axis_s_tvalid), .acts(p_acts));
    always @(posedge aclk) begin
        if (!aresetn) begin
            s_axis_s_tvalid <= 0;
            p_next <= 0;
        end else if (!s_axis_s_tvalid || s_axis_s_tready) begin
            s_axis_s_tvalid <= p_acts && `AXIS_N_P != 0;
            p_line <= p_acts && `AXIS_N_P != 0 ? p_mem[p_next] : p_noise;
            if (p_acts) p_next <= p_next + 1 >= `AXIS_N_P ? 0 : p_next + 1;
        end
    end
`endif

    // The memory of the values: answers in order, each after a latency by chance. Without requests the values come as
    // a stream of their own.
    reg [31:0] ready_at [0:63];
    reg [31:0] row_of [0:63];
    integer asked, answered, v_beat, now;
    wire [31:0] latency = calm ? 0 : noise[31:26] == 0 ? noise[15:8] : noise[12:8] >> noise[2:0];
`ifdef AXIS_HAS_REQUESTED
    wire v_there = asked != answered && $signed(ready_at[answered[5:0]]) <= now;
    wire [31:0] v_row = row_of[answered[5:0]];
    assign m_axis_vreq_tready = r_acts & (asked - answered < 60);
`else
    wire v_there = 1'b1;
    wire [31:0] v_row = v_next;
    assign m_axis_vreq_tready = r_acts;
`endif
    always @(posedge aclk) begin
        if (!aresetn) begin
            s_axis_v_tvalid <= 0;
            asked <= 0;
            answered <= 0;
            v_beat <= 0;
            v_next <= 0;
            now <= 0;
        end else begin
            now <= now + 1;
            if (r_taken) begin
                ready_at[asked[5:0]] <= now + 1 + latency;
                row_of[asked[5:0]] <= r_mem[r_next][63:32];
                asked <= asked + 1;
            end
            if (!s_axis_v_tvalid || s_axis_v_tready) begin
                s_axis_v_tvalid <= v_acts & v_there;
                v_line <= v_acts & v_there ? v_mem[v_row * `AXIS_V_BEATS + v_beat] : v_noise;
                if (v_acts & v_there) begin
                    v_beat <= v_beat == `AXIS_V_BEATS - 1 ? 0 : v_beat + 1;
                    if (v_beat == `AXIS_V_BEATS - 1) begin
                        answered <= answered + 1;
                        v_next <= (v_next + 1) * `AXIS_V_BEATS == `AXIS_N_V ? 0 : v_next + 1;
                    end
                end
            end
        end
    end

    // Checks of the outputs.
    reg o_waits, r_waits;
    reg [O_BEAT+3:0] o_before;
    reg [31:0] r_before;
    wire [O_BEAT+3:0] o_now = {m_axis_o_tuser, m_axis_o_tlast, m_axis_o_tdata};
    // Beats taken so far in this pass.
    integer q_count, k_count, v_count;
    always @(posedge aclk) begin
        if (!aresetn) begin
            {o_waits, r_waits} <= 0;
            o_next <= 0;
            r_next <= 0;
            q_count <= 0;
            k_count <= 0;
            v_count <= 0;
            quiet <= 0;
        end else if (!failed) begin
            quiet <= q_taken | k_taken | v_taken | o_taken | r_taken ? 0 : quiet + 1;
            beats = beats + q_taken + k_taken + v_taken + o_taken + r_taken;
            if (q_taken) q_count <= q_count + 1;
            if (k_taken) k_count <= k_count + 1;
            if (v_taken) v_count <= v_count + 1;
            checks = checks + 1;
            if ((^{s_axis_q_tready, s_axis_k_tready, s_axis_v_tready, m_axis_o_tvalid, m_axis_vreq_tvalid,
                   s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid}) === 1'bx) begin
                $display("TEST FAILED: at %0t: a tready or tvalid is X", $time);
                failed = 1;
            end
            if (o_waits && (!m_axis_o_tvalid || o_now !== o_before)) begin
                $display("TEST FAILED: at %0t: m_axis_o has not kept its beat %h", $time, o_before);
                failed = 1;
            end
            if (r_waits && (!m_axis_vreq_tvalid || m_axis_vreq_tdata !== r_before)) begin
                $display("TEST FAILED: at %0t: m_axis_vreq has not kept request %0d", $time, r_before);
                failed = 1;
            end
            o_waits <= m_axis_o_tvalid & ~m_axis_o_tready;
            r_waits <= m_axis_vreq_tvalid & ~m_axis_vreq_tready;
            o_before <= o_now;
            r_before <= m_axis_vreq_tdata;
            if (o_taken) begin
                checks = checks + 1;
                if (((o_now ^ o_mem[o_next]) & w_mem[o_next]) !== 0) begin
                    $display("TEST FAILED: at %0t: result beat %0d: expected tuser, tlast, tdata %h, got %h",
                             $time, o_next, o_mem[o_next], o_now);
                    failed = 1;
                end
                o_next <= o_next == `AXIS_N_O - 1 ? 0 : o_next + 1;
            end
            if (r_taken) begin
                checks = checks + 1;
                if (`AXIS_N_R == 0 || m_axis_vreq_tdata !== r_mem[r_next][31:0]) begin
                    $display("TEST FAILED: at %0t: request %0d: expected key %0d, got %0d",
                             $time, r_next, r_mem[r_next][31:0], m_axis_vreq_tdata);
                    failed = 1;
                end
                r_next <= r_next == `AXIS_N_R - 1 ? 0 : r_next + 1;
            end
        end
    end

    `include "axis_host.vh"

    // Words of a run, as packets.py writes them.
    reg [32*RUN_WORDS-1:0] words;
    wire [31:0] run_blocks = words[0 +: 32];
    wire [31:0] run_exponent = words[32 +: 32];
    wire [31:0] run_mode = words[64 +: 32];
    wire [31:0] run_stride = words[96 +: 32];
    wire [31:0] run_window = words[128 +: 32];
    wire [31:0] run_position = words[160 +: 32];
    wire [31:0] run_length = words[192 +: 32];
    wire [31:0] run_keys = words[224 +: 32];
    wire [31:0] run_read = words[256 +: 32];
    wire [31:0] run_q = words[288 +: 32];
    wire [31:0] run_k = words[320 +: 32];
    wire [31:0] run_o = words[352 +: 32];
    wire [31:0] run_r = words[384 +: 32];
    wire [31:0] run_states = words[416 +: 32];

    integer run, before_q, before_k, before_v, expected_v, last_q, last_k, rows;
    integer accounted, clock_cycles, total_values, total_skipped, total_frozen;
    reg busy;

    // One run: registers, start, the end, and checks of registers and streams.
    task one_run;
        begin
            words = s_mem[run];
            @(negedge aclk);
            set(`AXIS_REG_BLOCKS, run_blocks);
            set(`AXIS_REG_LENGTH, passes % 2 == 1 ? run_length : 0);
`ifdef AXIS_HAS_FIXED
            set(`AXIS_REG_V_EXPONENT, run_exponent);
            get(`AXIS_REG_V_EXPONENT);
            check_number("V_EXPONENT", run_exponent, word);
`endif
`ifdef AXIS_HAS_MASKS
            set(`AXIS_REG_MASK_MODE, run_mode);
            set(`AXIS_REG_STRIDE, run_stride);
            set(`AXIS_REG_WINDOW, run_window);
            set(`AXIS_REG_POSITION, run_position);
            get(`AXIS_REG_POSITION);
            check_number("POSITION", run_position, word);
`endif
`ifdef AXIS_HAS_STATES
            set(`AXIS_REG_STATES, run_states);
            get(`AXIS_REG_STATES);
            check_number("STATES", run_states, word);
`endif
            check_number("queries moved", before_q, q_count);
            check_number("keys moved", before_k, k_count);
            check_number("values moved", before_v, v_count);
            clock_cycles = now;
            // RUN, and CLEAR of the counters.
            set(`AXIS_REG_CONTROL, 3);
            busy = 1;
            while (busy && !failed) begin
                get(`AXIS_REG_STATUS);
                busy = word[0];
                check_number("STATUS errors", 0, word >> 8);
                if (quiet > 3000 && !failed) begin
                    $display("TEST FAILED: at %0t: nothing has moved for %0d cycles", $time, quiet);
                    failed = 1;
                end
            end
            clock_cycles = now - clock_cycles;
            get(`AXIS_REG_BLOCKS_DONE);
            check_number("BLOCKS_DONE", run_blocks, word);
            get(`AXIS_REG_KEYS);
            check_number("KEYS", run_keys, word);
            accounted = word;
            get(`AXIS_REG_VALUES_READ);
            check_number("VALUES_READ", run_read, word);
            total_values = total_values + word;
            get(`AXIS_REG_VALUES_SKIPPED);
            check_number("VALUES_SKIPPED", run_keys - run_read, word);
            total_skipped = total_skipped + word;
            get(`AXIS_REG_STALL_VALUE);
            accounted = accounted + word;
            total_frozen = total_frozen + word;
            get(`AXIS_REG_STALL_RESULT);
            accounted = accounted + word;
            total_frozen = total_frozen + word;
`ifdef AXIS_HAS_REQUESTED
            get(`AXIS_REG_STALL_REQUEST);
            accounted = accounted + word;
            total_frozen = total_frozen + word;
            if (calm) check_number("STALL_REQUEST", 0, word);
`endif
            get(`AXIS_REG_WAIT_KEYS);
            accounted = accounted + word;
            get(`AXIS_REG_WAIT_QUERIES);
            accounted = accounted + word;
            // Each cycle has one cause at most, and BUSY ends before it is seen.
            get(`AXIS_REG_CYCLES);
            checks = checks + 1;
            if ((word < accounted || word > clock_cycles) && !failed) begin
                $display("TEST FAILED: at %0t: CYCLES is %0d, but %0d have a cause, of %0d", $time,
                         word, accounted, clock_cycles);
                failed = 1;
            end
            get(`AXIS_REG_CONTROL);
            check_number("CONTROL", 0, word);
            // What the run had to take, and no beat more.
            before_q = before_q + run_q - last_q;
            before_k = before_k + run_k - last_k;
`ifdef AXIS_HAS_REQUESTED
            before_v = before_v + run_read * `AXIS_V_BEATS;
`else
            before_v = before_v + run_keys * `AXIS_V_BEATS;
`endif
            last_q = run_q;
            last_k = run_k;
            check_number("queries taken", before_q, q_count);
            check_number("keys taken", before_k, k_count);
            check_number("values taken", before_v, v_count);
            check_number("results", run_o == `AXIS_N_O ? 0 : run_o, o_next);
`ifdef AXIS_HAS_REQUESTED
            check_number("requests", run_r == `AXIS_N_R ? 0 : run_r, r_next);
`endif
        end
    endtask

    reg [8*256-1:0] folder, wave;
    initial begin
        aresetn = 0;
        start = 1;
        failed = 0;
        checks = 0;
        beats = 0;
        passes = 0;
        words = 0;
        total_values = 0;
        total_skipped = 0;
        total_frozen = 0;
        {s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready} = 0;
        s_axil_awaddr = 0;
        s_axil_araddr = 0;
        s_axil_wdata = 0;
        s_axil_wstrb = 0;
        calm = $test$plusargs("calm");
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        if (!$value$plusargs("beats=%d", wanted)) wanted = 1;
        if (!$value$plusargs("packets=%s", folder)) folder = ".";
        $display("seed %0d", seed);
        host_random = seed | 1;
        $readmemh({folder, "/q.hex"}, q_mem);
        $readmemh({folder, "/k.hex"}, k_mem);
        $readmemh({folder, "/v.hex"}, v_mem);
        $readmemh({folder, "/o.hex"}, o_mem);
        $readmemh({folder, "/w.hex"}, w_mem);
`ifdef AXIS_HAS_STATES
        $readmemh({folder, "/p.hex"}, p_mem);
`endif
        r_mem[`AXIS_N_R] = 0;
        $readmemh({folder, "/r.hex"}, r_mem, 0, `AXIS_N_R == 0 ? 0 : `AXIS_N_R - 1);
        $readmemh({folder, "/s.hex"}, s_mem);
        if ((^q_mem[0]) === 1'bx || (^s_mem[`AXIS_N_S-1]) === 1'bx) begin
            $display("TEST FAILED: no packets in %0s", folder);
            failed = 1;
        end
        if ($value$plusargs("vcd=%s", wave)) begin
            $dumpfile(wave);
            $dumpvars(1, dut);
        end
        repeat (4) @(negedge aclk);
        start = 0;
        aresetn = 1;
        @(negedge aclk);
        // Addresses without a register, and registers that are only read.
        host_read('hfc);
        check_response(2'd2);
        host_write('hfc, 1);
        check_response(2'd2);
        host_write(`AXIS_REG_KEYS, 1);
        check_response(2'd2);
        get(`AXIS_REG_STATUS);
        check_number("STATUS", 0, word);
        before_q = 0;
        before_k = 0;
        before_v = 0;
        while ((passes == 0 || beats < wanted) && !failed) begin
            last_q = 0;
            last_k = 0;
            run = 0;
            while (run < `AXIS_N_S && !failed) begin
                one_run;
                run = run + 1;
            end
            passes = passes + 1;
        end
        if (!failed) begin
            $display("%0d beats, %0d cycles, %0d frozen, %0d values read, %0d skipped",
                     beats, now, total_frozen, total_values, total_skipped);
            $display("TEST PASSED: %0d checks", checks);
        end
`ifdef __ICARUS__
        $finish_and_return(failed);
`elsif VERILATOR
        if (failed) $stop;
        $finish;
`else
        $finish;
`endif
    end
endmodule

`default_nettype wire
