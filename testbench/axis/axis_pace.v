`default_nettype none

// When one side of a stream acts: always, by chance, in runs and pauses, in every second cycle, or after it has seen
// `peer`. The kind changes by chance.
module axis_pace (
    input  wire        clk,
    input  wire [31:0] seed,
    input  wire        start,
    input  wire        calm,
    input  wire        peer,
    output reg         acts
);
    reg [31:0] s;
    reg [9:0] left;
    reg [2:0] kind;
    reg [7:0] chance;
    reg [6:0] hold;
    wire [31:0] s1 = s ^ (s << 13);
    wire [31:0] s2 = s1 ^ (s1 >> 17);
    wire [31:0] s3 = s2 ^ (s2 << 5);

    always @(posedge clk) begin
        if (start) begin
            s <= seed;
            left <= 0;
            kind <= 0;
            chance <= 0;
            hold <= 0;
            acts <= 0;
        end else begin
            s <= s3;
            if (left == 0) begin
                left <= {4'd0, s[31:26]} << s[9:8];
                kind <= s[12:10];
                chance <= s[20:13];
            end else begin
                left <= left - 1;
            end
            hold <= hold == 0 ? {1'b0, s[27:22]} : hold - 1;
            if (calm) acts <= 1;
            else case (kind)
                0, 1: acts <= 1;
                2, 3: acts <= s[7:0] <= chance;
                4, 5: acts <= acts ^ (hold == 0);
                6: acts <= ~acts;
                default: acts <= peer;
            endcase
        end
    end
endmodule

`default_nettype wire
