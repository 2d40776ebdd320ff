// The address of the value that is asked for: first + i stride of the segment that was taken, with i below its rows.

`default_nettype none

module pointer_props (
    input wire clk, rst, push, step, moves,
    input wire [`ADDRESS-1:0] address,
    input wire [29:0] rows,
    input wire [31:0] stride
);
    wire [`ADDRESS-1:0] at;
    `PART dut (
        .clk(clk), .rst(rst), .push(push), .address(address), .rows(rows), .stride(stride), .step(step), .moves(moves), .at(at)
    );
    (* hierconn *) wire \dut.active_q ;
    (* hierconn *) wire [29:0] \dut.rows_q ;
    // The queue's first segment, which may be any here, and that it is taken.
    (* hierconn *) wire \dut.pointer_take ;
    (* hierconn *) wire [`ADDRESS-1:0] \dut.segments_out ;
    (* hierconn *) wire [29:0] \dut.segments_out_1 ;

    reg begun = 1'b0;
    reg active;
    reg [`ADDRESS-1:0] row;
    reg [29:0] count, number;
    wire steps = active & step & moves;

    always @(posedge clk) begin
        begun <= 1'b1;
        if (rst) active <= 1'b0;
        else if (\dut.pointer_take ) begin
            active <= 1'b1;
            row <= \dut.segments_out ;
            count <= \dut.segments_out_1 ;
            number <= 30'd0;
        end else if (steps) begin
            active <= number != count - 30'd1;
            row <= row + stride;
            number <= number + 30'd1;
        end
    end

    always @* begin
        assume (begun | rst);
        // segments: at least a row.
        if (\dut.pointer_take ) assume (\dut.segments_out_1 != 30'd0);
        if (begun & ~rst) begin
            if (active) assert (at == row & number < count);
            if (\dut.pointer_take ) assert (~active | steps & number == count - 30'd1);
            // What induction needs.
            assert (active == \dut.active_q );
            if (active) assert (\dut.rows_q == count - number);
        end
    end
endmodule

`default_nettype wire
