// Segments of keys and values. The address of a segment is that of its head, and page times its stride, and row in the page times its stride,
// with a head below the job's, the number of the page that was taken from the block table, and rows that end with the page and with the
// keys of the job. Products come from outside, a cycle after their factors. With a buffer of BUFFER rows: a stored segment has rows of the
// head that were kept before, in their places, which are the first BUFFER ones.

`default_nettype none

module segments_props (
    input wire clk, rst, causal, windowed, paged, begins, entry_valid, ready,
    input wire [15:0] group, k_heads,
    input wire [31:0] queries, position, window, keys, entry,
    input wire [7:0] page,
    input wire [`ADDRESS-1:0] k, v,
    input wire [31:0] k_row, v_row, k_head, v_head, k_page, v_page,
    input wire [63:0] product
);
    wire key_valid, key_absent, key_last, value_valid, value_absent, value_last, take_entry, range;
    wire [`ADDRESS-1:0] key_address, value_address;
    wire [29:0] key_rows, value_rows;
    wire [31:0] a, b, from, to;
`ifdef BUFFER
    wire key_stored, key_keep, value_stored, value_keep;
    wire [$clog2(`BUFFER)-1:0] key_place, value_place;
`endif
    `PART dut (
        .clk(clk), .rst(rst), .job_group(group), .job_queries(queries), .job_k_heads(k_heads), .job_position(position),
        .job_window(window), .job_keys(keys), .job_page(page), .job_k(k), .job_v(v), .job_k_row(k_row), .job_v_row(v_row),
        .job_k_head(k_head), .job_v_head(v_head), .job_k_page(k_page), .job_v_page(v_page), .causal(causal), .windowed(windowed),
        .paged(paged), .begins(begins), .entry(entry), .entry_valid(entry_valid), .ready(ready), .product(product),
        .key_valid(key_valid), .key_address(key_address), .key_rows(key_rows), .key_absent(key_absent), .key_last(key_last),
        .value_valid(value_valid), .value_address(value_address), .value_rows(value_rows), .value_absent(value_absent),
        .value_last(value_last), .a(a), .b(b), .take_entry(take_entry), .range(range), .from(from), .to(to)
`ifdef BUFFER
        , .key_stored(key_stored), .key_keep(key_keep), .key_place(key_place), .value_stored(value_stored), .value_keep(value_keep),
        .value_place(value_place)
`endif
    );
`ifdef BUFFER
    (* hierconn *) wire [$clog2(`BUFFER):0] \dut.loaded_q ;
    // Rows of the head that are kept: the first ones.
    reg [31:0] kept;
`endif
    (* hierconn *) wire [2:0] \dut.state_q ;
    (* hierconn *) wire [2:0] \dut.count_q ;
    (* hierconn *) wire \dut.finished_q ;
    (* hierconn *) wire \dut.known_q ;
    (* hierconn *) wire \dut.head_ends_q ;
    (* hierconn *) wire [31:0] \dut.row_q ;
    (* hierconn *) wire [31:0] \dut.to_q ;
    (* hierconn *) wire [31:0] \dut.page_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.key_head_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.value_head_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.key_address_q ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.value_address_q ;
    (* hierconn *) wire [15:0] \dut.u_places.head_q ;
    (* hierconn *) wire [15:0] \dut.u_places.k_head_q ;
    (* hierconn *) wire [31:0] \dut.u_places.token_q ;

    reg begun = 1'b0;
    reg running;
    reg [2*`ADDRESS+400:0] job_before;
    wire [2*`ADDRESS+400:0] job = {causal, windowed, paged, group, k_heads, queries, position, window, keys, page, k, v, k_row, v_row,
        k_head, v_head, k_page, v_page};
    // The head, the sum of its strides, and the next row of the block.
    reg [15:0] of_keys;
    reg [`ADDRESS-1:0] key_head, value_head;
    reg [31:0] next, until;
    // Products of the last page and row, of keys and values.
    reg [`ADDRESS-1:0] of_key_page, of_key_row, of_value_page, of_value_row;
    // The number of a page, and the page of keys that it is of.
    reg known;
    reg [31:0] number, page_of;

    wire sent = key_valid & ready;
    wire [31:0] in_page = paged ? next & ~(32'hffffffff << page[4:0]) : next;
    wire [31:0] page_rows = paged ? 32'd1 << page[4:0] : keys;

    always @(posedge clk) begin
        begun <= 1'b1;
        job_before <= job;
        running <= ~rst & (begins | running & ~(sent & key_last & \dut.finished_q ));
        if (rst | begins) of_keys <= 16'd0;
        else if (sent & key_last & \dut.head_ends_q ) of_keys <= of_keys + 16'd1;
        if (begins) {key_head, value_head} <= {k, v};
        else if (sent & key_last & \dut.head_ends_q ) {key_head, value_head} <= {key_head + k_head, value_head + v_head};
`ifdef BUFFER
        if (rst | sent & key_last & \dut.head_ends_q ) kept <= 32'd0;
        // A block without keys may forget rows.
        else if (sent & key_keep) kept <= key_absent ? until : next + key_rows;
`endif
        if (range) {next, until} <= {from, to};
        else if (sent) next <= next + key_rows;
        if (rst | range) known <= 1'b0;
        if (take_entry) begin
            known <= 1'b1;
            number <= entry;
            page_of <= next >> page[4:0];
        end
        case (\dut.count_q )
            3'd1: of_key_page <= product;
            3'd2: of_key_row <= product;
            3'd3: of_value_page <= product;
            3'd4: of_value_row <= product;
        endcase
    end

    always @* begin
        assume (begun | rst);
        // The check of a job, and the host, which keeps its fields while it runs.
        assume (group != 16'd0 & k_heads != 16'd0 & queries != 32'd0 & keys <= 32'h100000);
        if (paged) assume (page <= 8'd16);
        if (running) assume (job == job_before);
        // job_states: a reset before each job.
        if (begins) assume (~running & \dut.state_q == 3'd0 & {\dut.u_places.head_q , \dut.u_places.k_head_q , \dut.u_places.token_q } == 0);
        if (begun & ~rst) begin
            if (key_valid) begin
                assert (running & of_keys < k_heads & key_rows != 30'd0);
                assert (value_valid & value_rows == key_rows & value_absent == key_absent & value_last == key_last);
                assert (key_absent == (next >= until));
            end
            if (key_valid & ~key_absent) begin
                assert (next + key_rows <= until & until <= keys);
                assert (in_page + key_rows <= page_rows);
                assert (key_address == key_head + of_key_page + of_key_row);
                assert (value_address == value_head + of_value_page + of_value_row);
                if (paged) assert (known & page_of == next >> page[4:0]);
                assert (key_last == (next + key_rows == until));
            end
            if (\dut.state_q == 3'd4 & \dut.count_q < 3'd4) begin
                assert (a == (\dut.count_q == 3'd0 | \dut.count_q == 3'd2 ? (paged ? \dut.page_q : 32'd0) : in_page));
                assert (b == (\dut.count_q == 3'd0 ? k_page : \dut.count_q == 3'd1 ? k_row : \dut.count_q == 3'd2 ? v_page : v_row));
            end
`ifdef BUFFER
            if (key_valid) begin
                assert (value_stored == key_stored & value_keep == key_keep & value_place == key_place);
                assert (~(key_stored & key_keep));
            end
            if (key_valid & ~key_absent) begin
                if (key_stored) assert (next + key_rows <= kept & key_place == next);
                else if (key_keep) assert (next == kept & next + key_rows <= `BUFFER & key_place == next);
                else assert (next > kept | kept == `BUFFER);
            end
            assert (\dut.loaded_q == kept & kept <= `BUFFER);
`endif
            // What induction needs.
            assert (running == (\dut.state_q != 3'd0) & \dut.state_q < 3'd6);
            assert (\dut.count_q <= 3'd4 & (\dut.count_q == 3'd0 | \dut.state_q == 3'd4));
            if (running) begin
                assert (\dut.key_head_q == key_head & \dut.value_head_q == value_head);
                assert (\dut.u_places.k_head_q == of_keys + (\dut.state_q != 3'd1 & \dut.head_ends_q ));
                assert (of_keys < k_heads & \dut.u_places.head_q < group & \dut.u_places.token_q < queries);
                if (\dut.state_q == 3'd1) assert (\dut.u_places.k_head_q < k_heads & ~\dut.finished_q );
                if (\dut.state_q != 3'd1) assert (\dut.finished_q == (\dut.u_places.k_head_q == k_heads));
            end
            if (\dut.state_q > 3'd2) begin
                assert (\dut.row_q == next & \dut.to_q == until & until <= keys);
                if (\dut.known_q ) assert (paged & known & page_of == next >> page[4:0]);
                if (known) assert (number == \dut.page_q );
            end
            if (\dut.state_q > 3'd3 & paged & next < until) assert (\dut.known_q );
            if (\dut.state_q == 3'd4) begin
                if (\dut.count_q == 3'd1) assert (\dut.key_address_q == key_head);
                if (\dut.count_q == 3'd2) assert (\dut.key_address_q == key_head + of_key_page);
                if (\dut.count_q != 3'd0 & \dut.count_q < 3'd4) assert (\dut.value_address_q == value_head);
                if (\dut.count_q == 3'd4) assert (\dut.value_address_q == value_head + of_value_page);
                if (\dut.count_q > 3'd2) assert (\dut.key_address_q == key_head + of_key_page + of_key_row);
            end
        end
    end
endmodule

`default_nettype wire
